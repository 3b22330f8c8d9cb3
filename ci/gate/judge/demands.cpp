#include <fmt/core.h>

#include <algorithm>

#include "fa_profile/static_metrics.h"
#include "judge.h"

namespace fa_profile::gate {
namespace {

/// A property of a case's code: instruction counts are summed over its functions, for everything else the worst counts.
std::optional<double> CodeValue(const CaseFacts* facts, const MetricKey& key) {
  if (facts == nullptr) return std::nullopt;
  std::optional<double> value;
  for (const CodeFacts& code : facts->code) {
    const auto one = StaticValue(code, key.phase, key.metric);
    if (!one) continue;
    if (!value) {
      value = one;
    } else if (key.metric.starts_with("static_") && key.metric.ends_with("_instructions")) {
      *value += *one;
    } else {
      value = key.metric == "blocks_per_sm" ? std::min(*value, *one) : std::max(*value, *one);
    }
  }
  return value;
}

std::optional<double> ValueOf(const Evidence& evidence, const CaseFacts* facts, std::size_t index,
                              const MetricKey& key) {
  if (facts == nullptr) return std::nullopt;
  if (const auto code = CodeValue(facts, key)) return code;
  const bool time = key.phase.empty() && (key.metric == kDuration || key.metric == kCycles);
  const auto timed = MedianOf(time ? Samples(evidence, index, "timing", key, false) : std::vector<double>());
  return timed ? timed : MedianOf(Samples(evidence, index, "recording", key, true));
}

/// All metrics of the candidate that a rule names.
std::set<MetricKey> Known(const JudgeContext& context, const CaseWork& work) {
  std::set<MetricKey> keys;
  const auto add = [&](const MetricKey& key) {
    if (context.ruled.contains(key.metric)) keys.insert(key);
  };
  for (const ProcessSample& process : context.input.candidate.processes) {
    if (work.candidate_index >= process.values.size()) continue;
    for (const auto& [key, value] : process.values[work.candidate_index]) add(key);
  }
  std::set<std::string> phases{""};
  for (const CodeFacts& code : work.candidate->code) {
    for (const auto& [phase, counts] : code.counts) phases.insert(phase);
  }
  for (const StaticMetric& metric : StaticMetrics()) {
    for (const std::string& phase : phases) add({phase, std::string(metric.id)});
  }
  return keys;
}

}  // namespace

void JudgeDemands(const JudgeContext& context, CaseWork& work, std::set<const ThresholdRule*>& checked) {
  if (work.candidate == nullptr || context.ruled.empty()) return;
  for (const MetricKey& key : Known(context, work)) {
    const Demand demand = context.DemandOn(work, key.phase, key.metric);
    if (!demand.minimum && !demand.maximum) continue;
    const auto value = ValueOf(context.input.candidate, work.candidate, work.candidate_index, key);
    if (!value) continue;
    const MetricFacts facts = FactsOf(key);
    const auto base = ValueOf(context.input.base, work.base, work.base_index, key);
    for (const bool minimum : {true, false}) {
      const auto limit = minimum ? demand.minimum : demand.maximum;
      if (!limit) continue;
      const auto breaks = [&](double of) { return minimum ? of < *limit : of > *limit; };
      const ThresholdRule* const rule = demand.RuleOf(minimum ? &ThresholdRule::minimum : &ThresholdRule::maximum);
      checked.insert(rule);
      if (demand.severity == Severity::kOff || !breaks(*value)) continue;
      Comparison comparison = Compared(key, base, value);
      comparison.tier = FindStaticMetric(key.metric) != nullptr        ? 0
                        : facts.stability == Stability::kDeterministic ? 1
                                                                       : 2;
      comparison.rule = context.Place(*rule);
      comparison.allowed = (minimum ? "at least " : "at most ") + Number(*limit, facts.unit);
      const std::string reason = fmt::format(
          "{}{} {} is {} the {} of {}{}{}", key.phase.empty() ? "" : OneLine(key.phase, 40) + ": ", facts.label,
          Number(*value, facts.unit), minimum ? "below" : "above", minimum ? "minimum" : "maximum",
          Number(*limit, facts.unit),
          base && breaks(*base) ? fmt::format("; so was the base: {}", Number(*base, facts.unit)) : "", OwnerOf(*rule));
      work.broken_demands.insert(reason);
      Add(work, std::move(comparison), Verdict::kRegression, demand.severity == Severity::kError, reason);
    }
  }
}

}  // namespace fa_profile::gate
