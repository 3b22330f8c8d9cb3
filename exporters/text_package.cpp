#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "attention_text.h"
#include "fa_profile/lint_report.h"
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

std::vector<Cell> PackageRow(const TextPage& page, const KernelLint& kernel) {
  const auto& inference = kernel.inference;
  const bool inferred = inference && inference->refusal.empty();
  const std::string how = inferred    ? ShortPercent(inference->direct_ratio) + " % direct"
                          : inference ? inference->refusal_word
                                      : "named";
  std::vector<Cell> cells{{page.Safe(ShortKernelName(kernel.name))}, {page.Safe(kernel.architecture)}, {how}};
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

}  // namespace

void WriteTextPackage(std::ostream& out, const PackageLint& package, const ReportOptions& options) {
  TextPage page(out, options);
  page.Rule(page.Safe(package.package));
  std::string file;
  std::vector<std::vector<Cell>> rows;
  for (const KernelLint& kernel : package.attention) {
    if (kernel.file != file || rows.empty()) {
      file = kernel.file;
      rows.push_back({{page.Safe(file), Style::kBold}});
      rows.back().resize(12);
    }
    rows.push_back(PackageRow(page, kernel));
    rows.back().front().text.insert(0, "  ");
  }
  if (!rows.empty()) {
    page.Table({{"file, kernel", true},
                {"arch"},
                {"phases"},
                {"qk%"},
                {"softmax%"},
                {"pv%"},
                {"instr"},
                {"exp"},
                {"rescale"},
                {"QK:PV"},
                {"regs"},
                {"spills"}},
               rows);
    page.Line("instr and exp: softmax instructions and exponentials in a tile of keys; spills: bytes", Style::kDim);
    page.Line("shares: of the code's instructions, ten times as heavy for each loop around them", Style::kDim);
  }
  page.Line();
  WriteRefused(page, package);
  std::vector<std::string> words;
  for (const auto& [word, count] : package.refused) {
    words.push_back(fmt::format("{} {}", count, word == "gemm" ? "GEMM or convolution" : word));
  }
  WriteSkippedCode(page, package.skipped, package.skipped_files);
  const auto cut = std::ranges::count_if(package.attention, [](const KernelLint& kernel) {
    return !kernel.inference || kernel.inference->refusal.empty();
  });
  page.Paragraph("", fmt::format("{} in {}: phases of {}; not inferred {}{}", CountText(package.kernels, "kernel"),
                                 CountText(package.files, "file"), cut,
                                 static_cast<std::ptrdiff_t>(package.attention.size()) - cut,
                                 words.empty() ? "" : fmt::format("; not attention: {}", fmt::join(words, ", "))));
}

}  // namespace fa_profile::exporters
