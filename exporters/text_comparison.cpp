// Named and inferred phases side by side, for people.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "fa_profile/call_name.h"
#include "fa_profile/code_report.h"
#include "fa_profile/demangle.h"
#include "fa_profile/text_page.h"
#include "fa_profile/units.h"
#include "text_code.h"

namespace fa_profile::exporters {
namespace {

constexpr std::size_t kMostSwaps = 5;
constexpr double kLeastSwap = 0.001;

std::string PointsText(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.1f}", 100.0 * *ratio) : "n/a";
}

std::string DifferenceText(const std::optional<double>& difference) {
  return difference ? fmt::format("{:+.1f}", 100.0 * *difference) : "n/a";
}

/// The columns of a way that has no phases are left out.
void WriteComparedTable(TextPage& page, const PhaseComparison& comparison) {
  const bool named = comparison.unnamed.empty();
  const bool inferred = comparison.refusal.empty();
  std::vector<Column> columns{{"  phase", true}};
  if (named) columns.push_back({"named %"});
  if (inferred) columns.push_back({"inferred %"});
  if (named && inferred) columns.insert(columns.end(), {{"difference"}, {"same name %"}});
  std::vector<std::vector<Cell>> rows;
  for (const ComparedPhase& phase : comparison.phases) {
    std::vector<Cell>& row = rows.emplace_back();
    row.push_back({"  " + page.Safe(phase.phase)});
    if (named) row.push_back({PointsText(phase.named_ratio)});
    if (inferred) row.push_back({PointsText(phase.inferred_ratio)});
    if (!named || !inferred) continue;
    row.push_back({DifferenceText(phase.difference)});
    row.push_back({PointsText(phase.same_ratio)});
  }
  page.Table(columns, rows);
}

void WriteSwaps(TextPage& page, const PhaseComparison& comparison) {
  std::string text;
  std::size_t shown = 0;
  for (const PhaseSwap& swap : comparison.swaps) {
    if (shown == kMostSwaps || swap.ratio < kLeastSwap) break;
    text += fmt::format("{}{} named {}, inferred {}", text.empty() ? "" : "; ", Percent(swap.ratio),
                        page.Safe(swap.named), page.Safe(swap.inferred));
    ++shown;
  }
  if (!text.empty()) page.Paragraph("  differ    ", text);
}

/// What is compared.
std::string What(const PhaseComparison& comparison) {
  return comparison.weighed_by == "samples" ? "samples of warps that wait at no barrier"
                                            : comparison.weighed_by + " other than barriers";
}

void WriteResult(TextPage& page, const PhaseComparison& comparison) {
  const std::string& of = comparison.weighed_by;
  if (!comparison.unnamed.empty()) page.Paragraph("  not named ", page.Safe(comparison.unnamed));
  if (!comparison.refusal.empty()) page.Paragraph("  refused   ", page.Safe(comparison.refusal));
  if (comparison.same_ratio) {
    std::string text = fmt::format("{} of the {} have the same name", Percent(*comparison.same_ratio), of);
    if (comparison.largest_error_ratio.value_or(0.0) > 0.0) {
      text += fmt::format("; the largest difference is {:.1f} points, {}", 100.0 * *comparison.largest_error_ratio,
                          page.Safe(comparison.largest_error_phase));
    }
    page.Paragraph("  result    ", text);
    page.Paragraph("  compared  ", fmt::format("{}, where a phase function holds the code: {} of them",
                                               What(comparison), Percent(comparison.named_ratio.value_or(0.0))));
  } else if (!comparison.phases.empty()) {
    page.Paragraph("  shares    ", "of " + What(comparison));
  }
}

}  // namespace

void WriteTextComparison(std::ostream& out, const std::vector<PhaseComparison>& comparisons,
                         const ReportOptions& options) {
  TextPage page(out, options);
  KernelsWithoutCode without_code;
  for (const PhaseComparison& comparison : comparisons) {
    if (!comparison.missing.empty()) {
      without_code[comparison.missing].push_back(CallName(comparison.kernel, comparison.shape, comparison.part));
      continue;
    }
    std::string title = fmt::format("phases compared{}{}", page.separator(), page.Safe(comparison.kernel));
    if (!comparison.part.empty()) title += "/" + page.Safe(comparison.part);
    if (comparison.shape) title += std::string(page.separator()) + comparison.shape->ToString();
    page.Rule(title);
    page.Paragraph("  function  ", page.Safe(ShortName(comparison.function)));
    WriteResult(page, comparison);
    WriteSwaps(page, comparison);
    if (!comparison.phases.empty()) WriteComparedTable(page, comparison);
    page.Line();
  }
  WriteKernelsWithoutCode(page, without_code);
}

}  // namespace fa_profile::exporters
