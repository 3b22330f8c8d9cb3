#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "fa_profile/gate_statistics.h"
#include "fa_profile/profile.h"
#include "fa_profile/static_metrics.h"
#include "fa_profile/text.h"
#include "fa_profile/units.h"
#include "judge.h"

namespace fa_profile::gate {
namespace {

/// The last rule that limits growth; null: no such rule.
const ThresholdRule* LastOnGrowth(const Demand& demand) {
  const ThresholdRule* last = nullptr;
  for (const ThresholdRule* const rule : demand.rules) {
    if (rule->relative || rule->absolute) last = rule;
  }
  return last;
}

/// Calls `see(phase, share)` for each phase in a process. Keys are sorted by phase, so a phase's other keys are
/// skipped.
template <typename See>
void ForPhases(const std::map<MetricKey, double>& values, See see) {
  for (auto at = values.begin(); at != values.end();) {
    const std::string& phase = at->first.phase;
    const auto share = values.find({phase, kPhaseTime});
    if (share != values.end()) see(phase, share->second);
    at = values.upper_bound({phase, "\x7f"});  // after every id
  }
}

}  // namespace

std::string CaseWork::Name() const { return CaseName(Facts()); }

bool JudgeContext::RecordedInPairs() const {
  const auto pairs = std::ranges::count_if(recording_pairs,
                                           [](const ProcessPair& pair) { return pair.stage == 1 && !pair.throttled; });
  return Paired() && std::ldexp(1.0, -static_cast<int>(pairs)) <= thresholds.suspect_level;
}

Demand JudgeContext::DemandOn(const CaseWork& work, const std::string& phase, const std::string& metric) const {
  if (!ruled.contains(metric)) return {};
  return FindDemand(thresholds, work.Facts().kernel, work.Facts().shape, phase, metric, input.today);
}

std::string JudgeContext::Place(const ThresholdRule& rule) const { return PlaceOf(thresholds, rule); }

std::string JudgeContext::GrowthRule(const Demand& demand) const {
  const ThresholdRule* const rule = LastOnGrowth(demand);
  return rule == nullptr ? std::string() : Place(*rule);
}

std::string OwnerOf(const ThresholdRule& rule) {
  if (rule.owner.empty() && rule.reason.empty()) return {};
  const std::string owner = rule.owner.empty() ? "" : "owner " + OneLine(rule.owner, 60);
  const std::string reason = OneLine(rule.reason);
  return " (" + owner + (owner.empty() || reason.empty() ? "" : ": ") + reason + ")";
}

std::string OwnerOf(const Demand& demand) {
  const ThresholdRule* const rule = LastOnGrowth(demand);
  return rule == nullptr ? std::string() : OwnerOf(*rule);
}

std::vector<double> Samples(const Evidence& evidence, std::size_t case_index, const std::string& kind,
                            const MetricKey& key, bool throttled) {
  std::vector<double> samples;
  for (const auto& [process, value] : Values(evidence, case_index, kind, key)) {
    if (throttled || !evidence.processes[process].throttled) samples.push_back(value);
  }
  return samples;
}

std::optional<double> MedianOf(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(Median(values));
}

std::optional<double> ValueIn(const Evidence& evidence, std::size_t process, std::size_t case_index,
                              const MetricKey& key) {
  const auto& cases = evidence.processes[process].values;
  if (case_index >= cases.size()) return std::nullopt;
  const auto found = cases[case_index].find(key);
  return found == cases[case_index].end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> ShareIn(const Evidence& evidence, std::size_t process, std::size_t case_index,
                              const std::string& phase) {
  if (const auto share = ValueIn(evidence, process, case_index, {phase, kPhaseTime})) return share;
  const auto& cases = evidence.processes[process].values;
  bool has_phases = false;
  if (case_index < cases.size()) ForPhases(cases[case_index], [&](const std::string&, double) { has_phases = true; });
  return has_phases ? std::optional(0.0) : std::nullopt;
}

std::map<std::string, double> PhaseShares(const Evidence& evidence, std::size_t case_index) {
  std::map<std::string, std::vector<double>> shares;
  std::size_t processes = 0;
  for (const ProcessSample& process : evidence.processes) {
    if (process.kind != "recording" || case_index >= process.values.size()) continue;
    bool any = false;
    ForPhases(process.values[case_index], [&](const std::string& phase, double share) {
      shares[phase].push_back(share);
      any = true;
    });
    processes += any ? 1 : 0;
  }
  std::map<std::string, double> medians;
  for (auto& [phase, values] : shares) {
    values.resize(processes, 0.0);
    medians[phase] = Median(values);
  }
  return medians;
}

std::string DurationKind(const Evidence& evidence, std::size_t case_index) {
  return Values(evidence, case_index, "timing", {"", kDuration}).empty() ? "recording" : "timing";
}

std::optional<double> DurationRatio(const JudgeContext& context, const CaseWork& work) {
  const GateInput& input = context.input;
  const auto median = [](const Evidence& evidence, std::size_t index, const MetricKey& key) {
    return MedianOf(Samples(evidence, index, DurationKind(evidence, index), key, false));
  };
  for (const char* const metric : {kCycles, kDuration}) {
    const MetricKey key{"", metric};
    const auto before = median(input.base, work.base_index, key);
    const auto after = median(input.candidate, work.candidate_index, key);
    if (before && after && *before > 0.0) return *after / *before;
  }
  return std::nullopt;
}

std::map<std::string, double> PhaseGrowth(const JudgeContext& context, const CaseWork& work) {
  std::map<std::string, double> growth;
  if (work.base == nullptr || work.candidate == nullptr) return growth;
  const auto& before = work.base_shares;
  const auto& after = work.candidate_shares;
  if (before.empty() || after.empty()) return growth;
  const double ratio = DurationRatio(context, work).value_or(1.0);
  for (const auto& [phase, share] : before) growth[phase] = -share;
  for (const auto& [phase, share] : after) growth[phase] += share * ratio;
  return growth;
}

MetricFacts FactsOf(const MetricKey& key) {
  if (key.metric == kCycles) return {"cycles", "cycles", Polarity::kLowerIsBetter, Stability::kNoisy};
  if (key.metric == kSlowProcesses) return {"slow processes", "ratio", Polarity::kLowerIsBetter, Stability::kNoisy};
  const CatalogueMetric* const row = key.phase.empty() ? FindMetric(key.metric) : FindPhaseMetric(key.metric);
  if (row != nullptr) {
    return {std::string(row->label), std::string(row->unit), row->polarity, row->stability};
  }
  if (const StaticMetric* const fact = FindStaticMetric(key.metric)) {
    return {std::string(fact->label), std::string(fact->unit), fact->polarity, Stability::kDeterministic};
  }
  return {key.metric, "", Polarity::kNeutral, Stability::kNoisy};
}

bool AddsUp(const std::string& unit) {
  return unit == "instructions" || unit == "count" || unit == "bytes" || unit == "sectors" || unit == "flops";
}

Comparison Compared(const MetricKey& key, std::optional<double> base, std::optional<double> candidate) {
  Comparison comparison;
  comparison.phase = key.phase;
  comparison.metric = key.metric;
  comparison.unit = FactsOf(key).unit;
  comparison.base = base;
  comparison.candidate = candidate;
  if (base && candidate && *base != 0.0) comparison.change = (*candidate - *base) / std::abs(*base);
  return comparison;
}

void Add(CaseWork& work, Comparison comparison, Verdict verdict, bool blocking, std::string reason) {
  comparison.verdict = verdict;
  comparison.blocking = blocking;
  comparison.reason = std::move(reason);
  work.verdict.comparisons.push_back(std::move(comparison));
}

Demand TimeDemand(const JudgeContext& context, const CaseWork& work, bool cycles) {
  Demand demand;
  if (cycles) demand = context.DemandOn(work, "", kCycles);
  return demand.rules.empty() ? context.DemandOn(work, "", kDuration) : demand;
}

double TimeTolerance(const JudgeContext& context, const CaseWork& work, std::optional<double> base_seconds,
                     std::optional<double> base_cycles, bool cycles) {
  const Tolerance& tolerance = context.thresholds.duration;
  const Demand demand = TimeDemand(context, work, cycles);
  const bool in_cycles = !demand.rules.empty() && demand.rules.front()->metric == kCycles;
  double floor = base_seconds && *base_seconds > 0.0 ? tolerance.absolute / *base_seconds : 0.0;
  const std::optional<double> base = in_cycles ? base_cycles : base_seconds;
  if (demand.absolute && base && *base > 0.0) floor = *demand.absolute / *base;
  return std::max(demand.relative.value_or(tolerance.relative), floor);
}

double PhaseTolerance(const JudgeContext& context, const Demand& demand, double base_share) {
  const Tolerance& tolerance = context.thresholds.phase_time;
  return std::max(demand.absolute.value_or(tolerance.absolute),
                  demand.relative.value_or(tolerance.relative) * base_share);
}

std::string Allowed(double relative, double absolute, double base, const std::string& unit) {
  if (absolute > relative * std::abs(base)) {
    return unit == "ratio" ? fmt::format("{:.3g} points", absolute * 100.0) : Number(absolute, unit);
  }
  return relative > 0.0 ? Percent(relative) : "no change";
}

void Block(Comparison& comparison, Severity severity) { comparison.blocking = severity == Severity::kError; }

void WeighClock(Comparison* time, Comparison* cycles, double suspect_level, bool every_pair) {
  if (time == nullptr || cycles == nullptr || !time->change || !cycles->change) return;
  const double clock = (1.0 + *cycles->change) / (1.0 + *time->change) - 1.0;
  const std::string both =
      fmt::format("{} cycles, {} time", SignedPercent(*cycles->change), SignedPercent(*time->change));
  if (cycles->verdict == Verdict::kRegression && time->verdict != Verdict::kRegression) {
    cycles->reason = "hidden by a higher clock: " + both;
  }
  if (cycles->verdict == Verdict::kInconclusive) return;
  // Cycles have their own noise: they need no second proof, but they have to be worse.
  const bool perhaps_cycles = cycles->p && *cycles->p <= suspect_level;
  if (time->verdict == Verdict::kRegression && cycles->verdict != Verdict::kRegression && !perhaps_cycles) {
    time->verdict = Verdict::kInconclusive;
    time->reason = fmt::format("slower, but not proven in cycles: {}; the candidate's clock was {} lower{}", both,
                               Percent(-clock), every_pair ? " in every pair: its code may be the cause" : "");
  }
  if (time->verdict == Verdict::kImproved && cycles->verdict != Verdict::kImproved) {
    time->verdict = Verdict::kPass;
    time->reason = fmt::format("faster, but not proven in cycles: {}", both);
  }
}

std::string Number(double value, const std::string& unit, int more) {
  if (unit == "ratio") return Percent(value, 1 + more);
  if (unit == "seconds") {
    const double size = std::abs(value);
    if (size < 1e-3) return fmt::format("{:.{}f} us", value * 1e6, 2 + more);
    return size < 1.0 ? fmt::format("{:.{}f} ms", value * 1e3, 3 + more) : fmt::format("{:.{}f} s", value, 3 + more);
  }
  const bool whole = std::abs(value) < 1e15 && value == std::round(value);
  return whole ? FormatCount(value) : fmt::format("{:.{}g}", value, 6 + more);
}

std::string FromTo(double base, double candidate, const std::string& unit) {
  constexpr int kMostMore = 6;
  constexpr double kSteps = 2.0;  // of the last decimal: less may show twice the change, or none
  double step = 0.0;              // counts are written in full
  if (unit == "ratio") step = 1e-3;
  if (unit == "seconds") step = std::max(std::abs(base), std::abs(candidate)) < 1e-3 ? 1e-8 : 1e-6;
  int more = 0;
  for (; more < kMostMore && std::abs(candidate - base) < kSteps * step; ++more) step /= 10.0;
  return Number(base, unit, more) + " -> " + Number(candidate, unit, more);
}

std::string OneLine(const std::string& text, std::size_t most) { return SafeLine(text, most); }

}  // namespace fa_profile::gate
