#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <ostream>

#include "fa_profile/metric_catalogue.h"
#include "fa_profile/report.h"
#include "fa_profile/text_page.h"
#include "fa_profile/units.h"
#include "text_kernel.h"
#include "text_phases.h"

namespace fa_profile::exporters {
namespace {

std::string Side(const TextPage& page, const Profile& profile) {
  const auto or_unknown = [&](const std::string& text) { return text.empty() ? "n/a" : page.Safe(text); };
  return fmt::format("{}{}{}{}driver {}{}commit {}", or_unknown(profile.session.created_at), page.separator(),
                     or_unknown(profile.device.name), page.separator(), or_unknown(profile.device.driver_version),
                     page.separator(), or_unknown(profile.session.tool_commit));
}

/// Labels for shares that are in no catalogue.
std::string_view ShareLabel(const std::string& metric) {
  if (metric == "product_overlap_ratio") return "work during products";
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

/// What changed in one entry, or in the program if the key is absent.
struct EntryChanges {
  std::vector<const MetricChange*> metrics;
  std::vector<const FindingChange*> findings;
  std::vector<const WaitChange*> waits;  // those that changed

  bool changed() const {
    return !findings.empty() || !waits.empty() ||
           std::ranges::any_of(metrics, [](const MetricChange* change) { return change->judgement != "same"; });
  }
};

std::map<std::optional<std::size_t>, EntryChanges> ByEntry(const ProfileDiff& diff) {
  std::map<std::optional<std::size_t>, EntryChanges> entries;
  for (std::size_t i = 0; i < diff.entries.size(); ++i) entries[i];
  for (const MetricChange& change : diff.changes) entries[change.entry].metrics.push_back(&change);
  for (const FindingChange& change : diff.findings) entries[change.entry].findings.push_back(&change);
  for (const WaitChange& change : diff.waits) {
    if (change.judgement != "same") entries[change.entry].waits.push_back(&change);
  }
  return entries;
}

/// "54.4 -> 683", "schedule.h:171 -> 174", or the only one.
Cell BothSides(const TextPage& page, const WaitChange& change,
               const std::function<std::string(const WaitSide&)>& text) {
  const std::string before = change.before ? text(*change.before) : std::string();
  std::string after = change.after ? text(*change.after) : std::string();
  if (before.empty() || after.empty() || before == after) return {page.Safe(after.empty() ? before : after)};
  const std::size_t file = before.rfind(':') + 1;  // 0: without lines
  if (after.starts_with(before.substr(0, file))) after.erase(0, file);
  return {page.Safe(before) + " -> " + page.Safe(after)};
}

void WriteWaits(TextPage& page, const std::vector<const WaitChange*>& waits) {
  std::vector<std::vector<Cell>> rows;
  for (const WaitChange* const change : waits) {
    const auto both = [&](const std::function<std::string(const WaitSide&)>& text) {
      return BothSides(page, *change, text);
    };
    const WaitSide& now = change->after ? *change->after : *change->before;
    rows.push_back({{"  " + page.Safe(change->phase)},
                    {page.Safe(WaitedFor(change->kind, now.place, now.copies))},
                    both([](const WaitSide& side) { return side.place; }),
                    both([](const WaitSide& side) { return FormatValue(side.waits, "count"); }),
                    both([](const WaitSide& side) { return FormatValue(side.waited_cycles, "count"); }),
                    both([](const WaitSide& side) { return ShortPercent(side.warps_ratio); }),
                    {page.Safe(change->judgement), StyleOf(change->judgement)}});
  }
  if (rows.empty()) return;
  page.Line();
  page.Table(
      {{"  waits in", true}, {"for", true}, {"at", true}, {"times"}, {"cycles"}, {"warps%"}, {"judgement", true}},
      rows);
}

/// "hopper_64 · 4,16,2048,64".
std::string TitleOf(const TextPage& page, const ProfileEntry& entry) {
  std::string title = page.Safe(entry.kernel);
  if (!entry.part.empty()) title.append("/").append(page.Safe(entry.part));
  if (entry.shape) title += std::string(page.separator()) + page.Safe(entry.shape->ToString());
  return title;
}

/// `judged`: the recordings are comparable. Else equal values are equal, and noise is not weighed.
void WriteEntry(TextPage& page, const std::string& title, const EntryChanges& entry, bool judged) {
  const std::vector<Column> columns{{"  metric", true}, {"before"}, {"after"}, {"change"}, {"judgement", true}};
  std::vector<std::vector<Cell>> rows;
  for (const MetricChange* const change : entry.metrics) {
    if (change->judgement != "same") rows.push_back(Row(page, *change));
  }
  page.Line();
  page.Rule(title);
  for (const FindingChange* const change : entry.findings) {
    page.Paragraph(fmt::format("  {:<11}", change->judgement),
                   page.Safe(change->finding.id) + ": " + page.Safe(change->finding.evidence));
  }
  if (!rows.empty()) page.Table(columns, rows);
  const std::size_t same = entry.metrics.size() - rows.size();
  const char* const how = judged ? "the same within noise" : same == 1 ? "has equal values" : "have equal values";
  page.Line(fmt::format("  {} metric{} {}", same, same == 1 ? "" : "s", how), Style::kDim);
  WriteWaits(page, entry.waits);
}

}  // namespace

void WriteTextDiff(std::ostream& out, const ProfileDiff& diff, const Profile& before, const Profile& after,
                   const ReportOptions& options) {
  TextPage page(out, options);
  page.Rule("fa-profile diff");
  page.Paragraph("before  ", Side(page, before));
  page.Paragraph("after   ", Side(page, after));
  for (const std::string& reason : diff.incomparable) page.Paragraph("not comparable: ", page.Safe(reason));
  for (const std::string& note : diff.notes) page.Paragraph("note: ", page.Safe(note));
  for (const std::string& reason : diff.not_compared) page.Paragraph("not compared: ", page.Safe(reason));
  // A program may have hundreds of kernels: unchanged ones are only counted.
  const bool programs = before.program && after.program;
  std::int64_t same = 0;
  bool equal = diff.only_before.empty() && diff.only_after.empty();
  for (const auto& [index, entry] : ByEntry(diff)) {
    equal = equal && !entry.changed();
    if (entry.changed() || !programs) {
      WriteEntry(page, index ? TitleOf(page, before.entries[diff.entries[*index].before]) : "program", entry,
                 diff.incomparable.empty());
    } else if (index) {
      ++same;
    }
  }
  if (same > 0) {
    page.Line();
    page.Line(fmt::format("{} {} without a difference", FormatCount(static_cast<double>(same)),
                          same == 1 ? "kernel" : "kernels"));
  }
  if (programs && equal) page.Line("No difference.");
  if (diff.entries.empty() && !programs) {
    page.Line();
    page.Line("The recordings have no kernel in common.");
  }
  for (const std::string& entry : diff.only_before) page.Paragraph("only before: ", page.Safe(entry));
  for (const std::string& entry : diff.only_after) page.Paragraph("only after: ", page.Safe(entry));
}

}  // namespace fa_profile::exporters
