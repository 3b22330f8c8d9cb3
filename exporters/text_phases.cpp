#include "text_phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "fa_profile/metric_catalogue.h"
#include "fa_profile/units.h"

namespace fa_profile::exporters {
namespace {

constexpr std::size_t kShownStalls = 2;
constexpr double kShownStall = 0.05;
constexpr std::size_t kPhaseBarColumns = 10;

/// A column in a phase table: a metric of the phase catalogue. `percent`: a ratio, printed without the sign.
struct PhaseColumn {
  const char* title;
  const char* id;
  bool percent = false;
};

constexpr const char* kTimeShare = "phase_time_ratio";
constexpr PhaseColumn kCost[] = {{"time%", kTimeShare, true},
                                 {"time", "phase_time_seconds"},
                                 {"warps%", "phase_warp_time_ratio", true},
                                 {"issue%", "phase_issue_ratio", true},
                                 {"waits%", "phase_waiting_ratio", true},
                                 {"instr", "phase_instructions"},
                                 {"thr/instr", "phase_threads_per_instruction"}};

constexpr PhaseColumn kWork[] = {{"tensor", "phase_tensor_instructions"},
                                 {"peak%", "phase_tensor_utilization_ratio", true},
                                 {"FLOPs", "phase_flops"},
                                 {"exp", "phase_exponentials"},
                                 {"MUFU%", "phase_mufu_utilization_ratio", true},
                                 {"shared", "phase_shared_wavefronts"},
                                 {"confl%", "phase_bank_conflict_ratio", true},
                                 {"global", "phase_global_bytes"},
                                 {"useful%", "phase_coalescing_ratio", true},
                                 {"local", "phase_local_sectors"},
                                 {"barriers", "phase_barriers"}};

std::optional<double> Metric(const PhaseEntry& phase, const char* id) {
  const auto found = phase.metrics.find(id);
  return found == phase.metrics.end() ? std::nullopt : std::optional(found->second);
}

std::string ValueText(const PhaseEntry& phase, const PhaseColumn& column) {
  const auto value = Metric(phase, column.id);
  if (column.percent) return ShortPercent(value);
  std::string_view unit = FindPhaseMetric(column.id)->unit;
  if (unit == "flops") unit = "count";  // the title says it
  return FormatValue(value, unit);
}

bool IsZero(const PhaseEntry& phase, const PhaseColumn& column) {
  return Metric(phase, column.id).value_or(0.0) == 0.0;
}

std::string StallsText(const PhaseEntry& phase) {
  std::vector<std::string> shares;
  for (const StallShare& stall : phase.stalls) {
    if (shares.size() == kShownStalls || stall.ratio < kShownStall) break;
    shares.push_back(stall.reason + " " + ShortPercent(stall.ratio));
  }
  return fmt::format("{}", fmt::join(shares, ", "));
}

/// The phase's share of the time as a bar; the longest phase fills it.
std::string BarOfPhase(const PhaseEntry& phase, const std::vector<PhaseEntry>& phases, Bars bars) {
  double longest = 0.0;
  for (const PhaseEntry& each : phases) longest = std::max(longest, Metric(each, kTimeShare).value_or(0.0));
  return Bar(Metric(phase, kTimeShare).value_or(0.0) / longest, kPhaseBarColumns, bars);
}

/// A table without the columns that are zero in every phase, and, unless `all`, without all-zero rows. In the one with
/// stalls, bars follow the share of the time.
void WriteTable(TextPage& page, const std::vector<PhaseEntry>& phases, std::span<const PhaseColumn> columns, bool all,
                bool with_stalls) {
  std::vector<PhaseColumn> shown;
  for (const PhaseColumn& column : columns) {
    const bool empty = std::ranges::all_of(phases, [&](const PhaseEntry& phase) { return IsZero(phase, column); });
    if (!empty) shown.push_back(column);
  }
  const auto with_bars = [&](const PhaseColumn& column) {
    return page.bars() != Bars::kNone && with_stalls && column.id == std::string_view(kTimeShare);
  };
  std::vector<std::vector<Cell>> rows;
  for (const PhaseEntry& phase : phases) {
    const bool empty = std::ranges::all_of(shown, [&](const PhaseColumn& column) { return IsZero(phase, column); });
    if (empty && !all) continue;
    std::vector<Cell> row{{"  " + page.Safe(phase.name)}};
    for (const PhaseColumn& column : shown) {
      row.push_back({ValueText(phase, column)});
      if (with_bars(column)) {
        row.push_back(
            {BarOfPhase(phase, phases, page.bars()), phase.name == kUnattributed ? Style::kDim : Style::kPlain});
      }
    }
    if (with_stalls) row.push_back({page.Safe(StallsText(phase))});
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return;
  std::vector<Column> titles{{"  phase", true}};
  for (const PhaseColumn& column : shown) {
    titles.push_back({column.title});
    if (with_bars(column)) titles.push_back({""});
  }
  if (with_stalls) titles.push_back({"top stalls %", true});
  page.Table(titles, rows);
}

/// "phases inferred from machine code: 83 % of samples direct, 16 % derived, 1 % guessed; QK:PV 1.00"
std::string AttributionText(TextPage& page, const PhaseTable& table) {
  const PhaseInference* const inference = table.inference ? &*table.inference : nullptr;
  if (inference != nullptr && inference->refusal.empty()) return InferenceText(*inference);
  std::string text = "phases by " + page.Safe(table.attribution);
  if (inference != nullptr) text += ", not inferred from machine code: " + page.Safe(inference->refusal);
  if (table.attribution == kOpcodePhasesName) text += "; --phase-map FILE gives your own (docs/phase-map.md)";
  return text;
}

void WriteSampling(TextPage& page, const PhaseTable& table) {
  std::string text;
  if (table.samples > 0) {
    text = FormatValue(static_cast<double>(table.samples), "count") + " samples";
    if (table.period_cycles > 0) text += fmt::format(", one an SM every {} cycles", table.period_cycles);
    text += table.dropped_samples == 0
                ? std::string(", none dropped; ")
                : fmt::format(", {} dropped; ", FormatValue(static_cast<double>(table.dropped_samples), "count"));
    text += fmt::format("{} waiting (in no time share); ", FormatValue(table.waiting_ratio, "ratio"));
  }
  text += AttributionText(page, table);
  page.Paragraph("  sampled    ", text);
}

/// "samples, instructions exact; NOT closed: ..." and by how much.
void WriteClosures(TextPage& page, const PhaseTable& table) {
  std::vector<std::string> exact;
  std::vector<std::string> parts;
  for (const Closure& closure : table.closures) {
    const std::string quantity = page.Safe(closure.quantity);
    if (closure.phases == closure.whole) {
      exact.push_back(quantity);
      continue;
    }
    std::string difference;
    if (closure.whole != 0.0) {
      difference = fmt::format("differ by {:.1f} %", 100.0 * std::abs(closure.phases / closure.whole - 1.0));
    }
    if (closure.closes()) {
      parts.push_back(fmt::format("{} {} (limit {})", quantity, difference, FormatValue(closure.limit_ratio, "ratio")));
    } else {
      parts.push_back(fmt::format("NOT closed: {} {} in the phases, {} in the kernel{}", quantity,
                                  FormatValue(closure.phases, "count"), FormatValue(closure.whole, "count"),
                                  difference.empty() ? "" : " (" + difference + ")"));
    }
  }
  if (!exact.empty()) parts.insert(parts.begin(), fmt::format("{} exact", fmt::join(exact, ", ")));
  if (!parts.empty()) page.Paragraph("  sums       ", fmt::format("{}", fmt::join(parts, "; ")));
}

/// "softmax 97": the phase that has most of these cycles, out of `all`.
std::string MostText(TextPage& page, const std::map<std::string, double>& cycles, double all) {
  const auto most = std::ranges::max_element(cycles, {}, [](const auto& phase) { return phase.second; });
  if (most == cycles.end() || most->second <= 0.0) return "";
  return page.Safe(most->first) + " " + ShortPercent(most->second / all);
}

void WriteOverlap(TextPage& page, const PhaseTable& table) {
  if (!table.overlap) return;
  const std::string most = MostText(page, table.overlap->phase_ratio, 1.0);
  page.Paragraph("  overlap    ",
                 fmt::format("from the issue of a product to the end of the wait for it, warps do other "
                             "work in {} % of the cycles{}",
                             ShortPercent(table.overlap->work_ratio), most.empty() ? "" : " (" + most + " %)"));
}

/// Places with little of the warps' time, waiting or working meanwhile, are left out.
void WriteAsyncWaits(TextPage& page, const ProfileEntry& entry) {
  constexpr double kShownShare = 0.005;
  constexpr std::size_t kShownWaits = 8;
  const auto warp_cycles = entry.metrics.find("warps_active_cycles");
  if (warp_cycles == entry.metrics.end() || !(warp_cycles->second > 0.0)) return;
  std::vector<std::vector<Cell>> rows;
  std::size_t left_out = 0;
  for (const AsyncWait& wait : entry.phases->async_waits) {
    const double issued_before = wait.issued_before_cycles.value_or(0.0);
    const double waited = wait.waits * wait.waited_cycles / warp_cycles->second;
    const double beside = wait.waits * issued_before / warp_cycles->second;
    if (std::max(waited, beside) < kShownShare) continue;
    if (rows.size() == kShownWaits) {
      ++left_out;
      continue;
    }
    rows.push_back({{"  " + page.Safe(wait.phase)},
                    {page.Safe(WaitedFor(wait.kind, wait.place, wait.copies))},
                    {page.Safe(wait.place)},
                    {FormatValue(wait.waits, "count")},
                    {FormatValue(wait.waited_cycles, "count")},
                    {ShortPercent(waited)},
                    {wait.issued_before_cycles ? FormatValue(issued_before, "count") : ""},
                    {wait.hidden_ratio() ? ShortPercent(*wait.hidden_ratio()) : ""},
                    {MostText(page, wait.beside_cycles, issued_before)}});
  }
  if (rows.empty()) return;
  page.Line();
  page.Table({{"  waits in", true},
              {"for", true},
              {"at", true},
              {"times"},
              {"cycles"},
              {"warps%"},
              {"before"},
              {"hidden%"},
              {"meanwhile %", true}},
             rows);
  if (left_out > 0) page.Line(fmt::format("  ... {} more, with --format json or html", left_out));
  page.Line();
}

}  // namespace

std::string WaitedFor(const std::string& kind, const std::string& place, const std::vector<PhasePlace>& copies) {
  constexpr std::size_t kMostCopies = 2;
  if (copies.empty()) return kind;
  const std::string file = place.substr(0, place.find(':') + 1);  // "" without lines
  std::string text;
  for (std::size_t i = 0; i < std::min(copies.size(), kMostCopies); ++i) {
    const auto& [phase, line] = copies[i];
    if (i == 0 || phase != copies[i - 1].phase) text += (i == 0 ? "" : " ") + phase;
    text += " " + (!file.empty() && line.starts_with(file) ? line.substr(file.size() - 1) : line);
  }
  return copies.size() > kMostCopies ? text + " ..." : text;
}

std::string InferenceText(const PhaseInference& inference) {
  std::string text = fmt::format("phases inferred from machine code: {} % of {} direct, {} % derived, {} % guessed",
                                 ShortPercent(inference.direct_ratio), inference.weighed_by,
                                 ShortPercent(inference.derived_ratio), ShortPercent(inference.guess_ratio));
  if (inference.qk_to_pv_ratio) {
    text += fmt::format("; QK:PV {:.2f}{}", *inference.qk_to_pv_ratio, inference.counted ? ", counted" : "");
  }
  if (inference.multiply_adds_per_exponential) {
    text += fmt::format("; {:.0f} multiply-adds an exponential", *inference.multiply_adds_per_exponential);
  }
  return text;
}

void WriteFinding(TextPage& page, const Finding& finding, std::string_view where, std::string_view lead) {
  page.Paragraph(lead, fmt::format("{}{}: {}. Cure: {}.", page.Safe(finding.id), where, page.Safe(finding.evidence),
                                   page.Safe(finding.cure)));
}

void WriteFindings(TextPage& page, const ProfileEntry& entry) {
  for (const Finding& finding : entry.findings) WriteFinding(page, finding);
}

void WritePhases(TextPage& page, const ProfileEntry& entry) {
  if (!entry.phases) return;
  page.Line();
  WriteTable(page, entry.phases->phases, kCost, /*all=*/true, /*with_stalls=*/true);
  page.Line();
  WriteTable(page, entry.phases->phases, kWork, /*all=*/false, /*with_stalls=*/false);
  WriteAsyncWaits(page, entry);
  WriteSampling(page, *entry.phases);
  WriteOverlap(page, *entry.phases);
  WriteClosures(page, *entry.phases);
  page.Line();
}

std::string TopPhase(const ProfileEntry& entry) {
  if (!entry.phases) return "n/a";
  const PhaseEntry* top = nullptr;
  double most = 0.0;
  for (const PhaseEntry& phase : entry.phases->phases) {
    const auto share = Metric(phase, "phase_time_ratio");
    if (!share || *share <= most || phase.name == kUnattributed) continue;
    top = &phase;
    most = *share;
  }
  return top == nullptr ? "n/a" : top->name + " " + ShortPercent(most) + "%";
}

}  // namespace fa_profile::exporters
