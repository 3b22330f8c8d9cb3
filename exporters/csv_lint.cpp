#include <fmt/format.h>

#include <optional>
#include <ostream>
#include <utility>

#include "attention_text.h"
#include "csv_fields.h"
#include "fa_profile/lint_report.h"

namespace fa_profile::exporters {
namespace {

std::string Number(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; }

void WriteHead(std::ostream& out) {
  out << "file,architecture,kernel,symbol,attribution,refusal_word,refusal,direct_ratio,derived_ratio,guess_ratio,"
         "qk_share_ratio,softmax_share_ratio,pv_share_ratio,softmax_instructions,exponentials,rescale,qk_to_pv_ratio,"
         "multiply_adds_per_exponential,registers_per_thread,spill_bytes,findings"
      << kCsvLineEnd;
}

void WriteKernel(std::ostream& out, const KernelLint& kernel) {
  const PhaseInference* const inference = kernel.inference ? &*kernel.inference : nullptr;
  const bool inferred = inference != nullptr && inference->refusal.empty();
  const KeyTile* const tile = inferred && inference->tile ? &*inference->tile : nullptr;
  const auto ratio = [&](double PhaseInference::*member) {
    return inferred ? fmt::format("{}", inference->*member) : std::string();
  };
  std::string findings;
  for (const Finding& finding : kernel.findings) findings += (findings.empty() ? "" : " ") + std::string(finding.id);
  out << CsvField(kernel.file) << ',' << CsvField(kernel.architecture) << ',' << CsvField(kernel.name) << ','
      << CsvField(kernel.symbol) << ',' << CsvField(kernel.attribution) << ','
      << CsvField(inference == nullptr ? "" : inference->refusal_word) << ','
      << CsvField(inference == nullptr ? "" : inference->refusal) << ',' << ratio(&PhaseInference::direct_ratio) << ','
      << ratio(&PhaseInference::derived_ratio) << ',' << ratio(&PhaseInference::guess_ratio) << ','
      << Number(StaticShare(kernel, "qk")) << ',' << Number(StaticShare(kernel, "softmax")) << ','
      << Number(StaticShare(kernel, "pv")) << ','
      << (tile == nullptr ? "" : fmt::format("{}", tile->softmax_instructions)) << ','
      << (tile == nullptr ? "" : fmt::format("{}", tile->exponentials)) << ','
      << CsvField(tile == nullptr ? "" : tile->rescale) << ',' << (inferred ? Number(inference->qk_to_pv_ratio) : "")
      << ',' << (inferred ? Number(inference->multiply_adds_per_exponential) : "") << ','
      << (kernel.registers_per_thread ? fmt::format("{}", *kernel.registers_per_thread) : "") << ','
      << kernel.spills.store_bytes + kernel.spills.load_bytes << ',' << findings << kCsvLineEnd;
}

class Writer : public PackageWriter {
 public:
  explicit Writer(std::ostream& out) : out_(out) {}
  void Kernel(const std::string&, const KernelLint& kernel) override {
    Begin();
    WriteKernel(out_, kernel);
  }
  void End(const PackageLint&) override { Begin(); }

 private:
  void Begin() {
    if (!std::exchange(begun_, true)) WriteHead(out_);
  }

  std::ostream& out_;
  bool begun_ = false;
};

}  // namespace

void WriteCsvLint(std::ostream& out, const FileLint& lint, const ReportOptions&) {
  WriteHead(out);
  for (const KernelLint& kernel : lint.kernels) WriteKernel(out, kernel);
}

std::unique_ptr<PackageWriter> CsvPackageWriter(std::ostream& out, const ReportOptions&) {
  return std::make_unique<Writer>(out);
}

}  // namespace fa_profile::exporters
