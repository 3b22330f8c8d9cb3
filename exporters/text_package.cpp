#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <ostream>
#include <utility>

#include "attention_text.h"
#include "fa_profile/lint_report.h"
#include "fa_profile/text.h"
#include "fa_profile/text_page.h"
#include "fa_profile/units.h"
#include "text_skipped.h"

namespace fa_profile::exporters {
namespace {

std::string CountText(int count, const char* word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string PhaseShareText(const KernelLint& kernel, const char* phase) {
  const auto share = StaticShare(kernel, phase);
  return share ? ShortPercent(*share) : "";
}

/// All columns but the first.
std::vector<Cell> PackageRow(const TextPage& page, const KernelLint& kernel) {
  const auto& inference = kernel.inference;
  const bool inferred = inference && inference->refusal.empty();
  const std::string how = inferred    ? ShortPercent(inference->direct_ratio) + " % direct"
                          : inference ? "not: " + inference->refusal_word
                                      : "named";
  std::vector<Cell> cells{{page.Safe(kernel.architecture)}, {page.Safe(how)}};
  const bool has_phases = inferred || !inference;
  for (const char* const phase : {"qk", "softmax", "pv"})
    cells.push_back({has_phases ? PhaseShareText(kernel, phase) : ""});
  if (inferred && inference->tile) {
    const KeyTile& tile = *inference->tile;
    cells.push_back({fmt::format("{}{}", tile.rounds_known ? "" : "\u2265", tile.softmax_instructions)});
    cells.push_back({fmt::format("{:g}", tile.exponentials)});
    cells.push_back({tile.rescale});
  } else {
    cells.insert(cells.end(), 3, Cell{});
  }
  cells.push_back({inferred && inference->qk_to_pv_ratio ? RatioText(*inference->qk_to_pv_ratio) : ""});
  cells.push_back({kernel.registers_per_thread ? fmt::format("{}", *kernel.registers_per_thread) : ""});
  const std::int64_t spilled = kernel.spills.store_bytes + kernel.spills.load_bytes;
  cells.push_back({spilled == 0 ? "." : fmt::format("{}", spilled)});
  return cells;
}

void WriteRefused(TextPage& page, const PackageLint& package) {
  std::map<std::string, std::pair<int, std::string>> refusals;  // by word: how many, and one sentence
  for (const KernelLint& kernel : package.attention) {
    if (!kernel.inference || kernel.inference->refusal.empty()) continue;
    auto& [count, example] = refusals[kernel.inference->refusal_word];
    if (count++ == 0) example = kernel.inference->refusal;
  }
  for (const auto& [word, refusal] : refusals) {
    page.Paragraph(fmt::format("  {:<11}", word),
                   fmt::format("{} not inferred, for instance: {}",
                               refusal.first == 1 ? "1 kernel" : fmt::format("{} kernels", refusal.first),
                               page.Safe(refusal.second)));
  }
}

/// Writes what was refused and skipped, and the totals.
void WriteEnd(TextPage& page, const PackageLint& package) {
  page.Line();
  WriteRefused(page, package);
  std::vector<std::string> words;
  for (const auto& [word, count] : package.refused) {
    words.push_back(fmt::format("{} {}", count,
                                word == "gemm"       ? "GEMM or convolution"
                                : word == "branches" ? "with unknown branches"
                                : word == "size"     ? "too large to tell"
                                                     : word));
  }
  if (!package.is_complete) {
    page.Line(fmt::format("stopped: this is what was read so far, {} of {} cubins and files", package.found,
                          package.total == 0 ? "an unknown number of" : fmt::format("{}", package.total)),
              Style::kBold);
  }
  WriteReadAndSkipped(page, package.found, package.skipped, package.skipped_files);
  const auto cut = std::ranges::count_if(package.attention, [](const KernelLint& kernel) {
    return !kernel.inference || kernel.inference->refusal.empty();
  });
  page.Paragraph("", fmt::format("{} in {}: phases of {}; not inferred {}{}", CountText(package.kernels, "kernel"),
                                 CountText(package.files, "file"), cut,
                                 static_cast<std::ptrdiff_t>(package.attention.size()) - cut,
                                 words.empty() ? "" : fmt::format("; not attention: {}", fmt::join(words, ", "))));
}

struct WideColumn : Column {
  std::size_t width = 0;  ///< rows are printed before later ones are known
};

const std::vector<WideColumn>& PackageColumns() {
  static const std::vector<WideColumn> columns{{{"arch"}, 7},  {{"phases"}, 18}, {{"qk%"}, 4},   {{"softmax%"}, 8},
                                               {{"pv%"}, 4},   {{"instr"}, 5},   {{"exp"}, 3},   {{"rescale"}, 10},
                                               {{"QK:PV"}, 5}, {{"regs"}, 4},    {{"spills"}, 6}};
  return columns;
}

class TextPackage : public PackageWriter {
 public:
  TextPackage(std::ostream& out, const ReportOptions& options) : page_(out, options) {
    for (const WideColumn& column : PackageColumns()) {
      columns_.push_back(column);
      widths_.push_back(column.width);
    }
  }

  void Kernel(const std::string& package, const KernelLint& kernel) override {
    Begin(package);
    if (std::exchange(has_rows_, true) == false) page_.Row(columns_, widths_, Titles());
    if (kernel.file != file_) page_.Line(page_.Safe(kernel.file), Style::kBold);
    if (kernel.file != file_ || kernel.label != label_) PrintLabel(kernel.label);
    file_ = kernel.file;
    label_ = kernel.label;
    page_.Row(columns_, widths_, PackageRow(page_, kernel));
  }

  void End(const PackageLint& package) override {
    Begin(package.package);
    if (has_rows_) {
      page_.Line("instr and exp: softmax instructions and exponentials in a tile of keys; spills: bytes", Style::kDim);
      page_.Line("shares: of the code's instructions, ten times as heavy for each loop around them", Style::kDim);
      page_.Line("names: template arguments that differ among the kernels of a name in a file", Style::kDim);
    }
    WriteEnd(page_, package);
  }

 private:
  void Begin(const std::string& package) {
    if (!std::exchange(begun_, true)) page_.Rule(page_.Safe(package));
  }
  /// On a line before the row, because no column is wide enough. A name that cannot be demangled may be pages long.
  void PrintLabel(const std::string& label) {
    constexpr std::size_t kMostLines = 3;
    page_.Paragraph("  ", Truncate(page_.Safe(label), kMostLines * (page_.width() - 3)));
  }
  std::vector<Cell> Titles() const {
    std::vector<Cell> titles;
    for (const Column& column : columns_) titles.push_back({column.title, Style::kBold});
    return titles;
  }

  TextPage page_;
  std::vector<Column> columns_;
  std::vector<std::size_t> widths_;
  bool begun_ = false;
  bool has_rows_ = false;
  std::string file_;   // the previous row's
  std::string label_;  // the previous row's
};

}  // namespace

std::unique_ptr<PackageWriter> TextPackageWriter(std::ostream& out, const ReportOptions& options) {
  return std::make_unique<TextPackage>(out, options);
}

}  // namespace fa_profile::exporters
