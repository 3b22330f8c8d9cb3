#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <tuple>

#include "fa_profile/metric_catalogue.h"
#include "fa_profile/report.h"
#include "fa_profile/text_page.h"
#include "fa_profile/units.h"
#include "text_kernel.h"

namespace fa_profile::exporters {
namespace {

std::string Side(const TextPage& page, const Profile& profile) {
  const auto or_unknown = [&](const std::string& text) { return text.empty() ? "n/a" : page.Safe(text); };
  return fmt::format("{}{}{}{}driver {}{}commit {}", or_unknown(profile.session.created_at), page.separator(),
                     or_unknown(profile.device.name), page.separator(), or_unknown(profile.device.driver_version),
                     page.separator(), or_unknown(profile.session.tool_commit));
}

/// Shares that no catalogue has.
std::string_view ShareLabel(const std::string& metric) {
  if (metric == "product_overlap_ratio") return "work beside products";
  if (metric == "kernel_time_share_ratio") return "share of the time of all kernels";
  if (metric == "gpu_busy_ratio") return "GPU busy";
  return {};
}

std::vector<Cell> Row(const TextPage& page, const MetricChange& change) {
  const CatalogueMetric* metric = change.phase.empty() ? FindMetric(change.metric) : FindPhaseMetric(change.metric);
  const std::string_view share = ShareLabel(change.metric);
  const std::string_view unit = metric != nullptr ? metric->unit : share.empty() ? "" : "ratio";
  std::string label = metric != nullptr ? std::string(metric->label)
                      : share.empty()   ? page.Safe(change.metric)
                                        : std::string(share);
  if (!change.phase.empty()) label = page.Safe(change.phase) + ": " + label;
  const std::string ratio =
      change.ratio ? fmt::format("{}{}", *change.ratio > 0 ? "+" : "", FormatValue(*change.ratio, "ratio")) : "n/a";
  return {{"  " + label},
          {FormatValue(change.before, unit)},
          {FormatValue(change.after, unit)},
          {ratio},
          {page.Safe(change.judgement), StyleOf(change.judgement)}};
}

bool IsOfProgram(const MetricChange& change) { return change.metric == "gpu_busy_ratio"; }

template <typename Change>
auto Key(const Change& change) {
  return std::tie(change.kernel, change.part, change.shape);
}

/// "new        wait-for-copy: sync waits 683 cycles ...".
void WriteFindings(TextPage& page, const ProfileDiff& diff, const MetricChange& entry) {
  for (const FindingChange& change : diff.findings) {
    if (Key(change) != Key(entry)) continue;
    page.Paragraph(fmt::format("  {:<11}", change.judgement),
                   page.Safe(change.finding.id) + ": " + page.Safe(change.finding.evidence));
  }
}

/// "54.4 -> 683", or the only one.
Cell BothSides(const TextPage& page, const WaitChange& change, std::string (*text)(const WaitSide&)) {
  const auto of = [&](const std::optional<WaitSide>& side) { return side ? page.Safe(text(*side)) : std::string(); };
  const std::string before = of(change.before);
  const std::string after = of(change.after);
  if (before.empty() || after.empty() || before == after) return {after.empty() ? before : after};
  return {before + " -> " + after};
}

void WriteWaits(TextPage& page, const ProfileDiff& diff, const MetricChange& entry) {
  std::vector<std::vector<Cell>> rows;
  for (const WaitChange& change : diff.waits) {
    if (Key(change) != Key(entry) || change.judgement == "same") continue;
    rows.push_back(
        {{"  " + page.Safe(change.phase)},
         {change.kind},
         BothSides(page, change, [](const WaitSide& side) { return side.place; }),
         BothSides(page, change, [](const WaitSide& side) { return FormatValue(side.waits, "count"); }),
         BothSides(page, change, [](const WaitSide& side) { return FormatValue(side.waited_cycles, "count"); }),
         BothSides(page, change, [](const WaitSide& side) { return ShortPercent(side.warps_ratio); }),
         {page.Safe(change.judgement), StyleOf(change.judgement)}});
  }
  if (rows.empty()) return;
  page.Line();
  page.Table(
      {{"  waits in", true}, {"for", true}, {"at", true}, {"times"}, {"cycles"}, {"warps%"}, {"judgement", true}},
      rows);
}

void WriteEntry(TextPage& page, const ProfileDiff& diff, std::size_t begin, std::size_t end) {
  const std::vector<MetricChange>& changes = diff.changes;
  const std::vector<Column> columns{{"  metric", true}, {"before"}, {"after"}, {"change"}, {"judgement", true}};
  std::vector<std::vector<Cell>> rows;
  for (std::size_t i = begin; i < end; ++i) {
    if (changes[i].judgement != "same") rows.push_back(Row(page, changes[i]));
  }
  const MetricChange& first = changes[begin];
  std::string title = IsOfProgram(first) ? "program" : page.Safe(first.kernel);
  if (!first.part.empty()) title.append("/").append(page.Safe(first.part));
  if (!first.shape.empty()) title += std::string(page.separator()) + page.Safe(first.shape);
  page.Line();
  page.Rule(title);
  WriteFindings(page, diff, first);
  if (!rows.empty()) page.Table(columns, rows);
  const std::size_t same = end - begin - rows.size();
  page.Line(fmt::format("  {} metric{} the same", same, same == 1 ? "" : "s"), Style::kDim);
  WriteWaits(page, diff, first);
}

}  // namespace

void WriteTextDiff(std::ostream& out, const ProfileDiff& diff, const Profile& before, const Profile& after,
                   const ReportOptions& options) {
  TextPage page(out, options);
  page.Rule("fa-profile diff");
  page.Paragraph("before  ", Side(page, before));
  page.Paragraph("after   ", Side(page, after));
  for (const std::string& reason : diff.incomparable) page.Paragraph("not comparable: ", page.Safe(reason));
  // A program may have hundreds of kernels: those that did not change are only counted.
  const bool programs = before.program && after.program;
  std::int64_t same = 0;
  for (std::size_t begin = 0; begin < diff.changes.size();) {
    std::size_t end = begin;
    bool changed = false;
    for (; end < diff.changes.size() && Key(diff.changes[end]) == Key(diff.changes[begin]); ++end) {
      changed |= diff.changes[end].judgement != "same";
    }
    if (changed || !programs) {
      WriteEntry(page, diff, begin, end);
    } else if (!IsOfProgram(diff.changes[begin])) {
      ++same;
    }
    begin = end;
  }
  if (same > 0) {
    page.Line();
    page.Line(fmt::format("{} {} without a difference", FormatCount(static_cast<double>(same)),
                          same == 1 ? "kernel" : "kernels"));
  }
  const bool equal = diff.only_before.empty() && diff.only_after.empty() &&
                     std::ranges::all_of(diff.changes, [](const auto& change) { return change.judgement == "same"; });
  if (programs && equal) page.Line("No difference.");
  if (diff.changes.empty() && !programs) {
    page.Line();
    page.Line("The recordings have no kernel in common.");
  }
  for (const std::string& entry : diff.only_before) page.Paragraph("only before: ", page.Safe(entry));
  for (const std::string& entry : diff.only_after) page.Paragraph("only after: ", page.Safe(entry));
}

}  // namespace fa_profile::exporters
