#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "fa_profile/static_metrics.h"
#include "fa_profile/units.h"
#include "judge.h"

namespace fa_profile::gate {
namespace {

/// A counter that varies by more than this between launches of the same code is not deterministic.
constexpr double kNotConstant = 0.005;

double Range(const std::vector<double>& values) {
  const auto [least, most] = std::ranges::minmax_element(values);
  return *most - *least;
}

using Gathered = std::map<MetricKey, std::vector<double>>;

/// All values of a case in the recording processes. Processes have nearly the same keys in the same order, so the hint
/// is nearly always right.
Gathered Gather(const Evidence& evidence, std::size_t index) {
  Gathered gathered;
  for (const ProcessSample& process : evidence.processes) {
    if (process.kind != "recording" || index >= process.values.size()) continue;
    auto place = gathered.begin();
    for (const auto& [key, value] : process.values[index]) {
      while (place != gathered.end() && place->first < key) ++place;
      if (place == gathered.end() || place->first != key)
        place = gathered.emplace_hint(place, key, Gathered::mapped_type());
      place->second.push_back(value);
    }
  }
  return gathered;
}

struct Counter {
  std::vector<double> before, after;
  Comparison comparison;
  MetricFacts facts;
  Demand demand;
};

/// Growth in the worse direction. A neutral metric, judged only if a rule limits it, gets worse by growing.
double Growth(const Counter& counter) {
  const double growth = *counter.comparison.candidate - *counter.comparison.base;
  return counter.facts.polarity == Polarity::kHigherIsBetter ? -growth : growth;
}

/// Tolerated growth: all of these limits have to be exceeded.
struct CounterLimits {
  double relative = 0.0;  ///< relative to `of`
  double of = 0.0;        ///< the base's value; for a phase's count the kernel's total
  double absolute = 0.0;

  std::string Text(const Counter& counter) const {
    const bool of_kernel = relative > 0.0 && of > std::abs(*counter.comparison.base) && absolute <= relative * of;
    return Allowed(relative, absolute, of, counter.facts.unit) + (of_kernel ? " of the kernel's" : "");
  }
};

/// The relative limit, and a multiple of the range of equal code. A phase's count is compared with the kernel's total:
/// 0.5 % more in a phase that makes up a hundredth of the kernel is not 0.5 % of the kernel.
CounterLimits LimitsOf(const JudgeContext& context, const Counter& counter, double range, double kernel_total) {
  const bool exact = counter.facts.stability == Stability::kDeterministic;
  const bool limited = counter.demand.relative || counter.demand.absolute;
  const double noise = context.thresholds.counter_aa_ranges * range;
  const bool of_phase = !counter.comparison.phase.empty() && AddsUp(counter.facts.unit) && !limited;
  CounterLimits limits;
  limits.relative = counter.demand.relative.value_or(exact || !limited ? context.thresholds.counter_relative : 0.0);
  limits.of = std::max(std::abs(*counter.comparison.base), of_phase ? kernel_total : 0.0);
  // A noisy metric that a rule limits must also exceed the range of equal code.
  limits.absolute =
      exact ? counter.demand.absolute.value_or(noise) : std::max(counter.demand.absolute.value_or(0.0), noise);
  return limits;
}

bool IsWorse(const JudgeContext& context, const Counter& counter, double range, double kernel_total) {
  const CounterLimits limits = LimitsOf(context, counter, range, kernel_total);
  const double growth = Growth(counter);
  return growth > 0.0 && growth > limits.relative * limits.of && growth > limits.absolute;
}

/// Every candidate process is worse than every base process, by the limits and by the base's own range. This judges
/// counters that vary only in the candidate (retried atomics, a spin loop).
bool IsWorseThroughout(const JudgeContext& context, const Counter& counter, double kernel_total) {
  const bool falls = counter.facts.polarity == Polarity::kHigherIsBetter;
  Counter nearest = counter;
  nearest.comparison.base = falls ? std::ranges::min(counter.before) : std::ranges::max(counter.before);
  nearest.comparison.candidate = falls ? std::ranges::max(counter.after) : std::ranges::min(counter.after);
  return IsWorse(context, nearest, Range(counter.before), kernel_total);
}

void Conclude(const JudgeContext& context, CaseWork& work, Counter counter, double kernel_total) {
  Comparison& comparison = counter.comparison;
  const double range = std::max(Range(counter.before), Range(counter.after));
  const double size = std::max(std::abs(*comparison.base), std::abs(*comparison.candidate));
  const bool exact = counter.facts.stability == Stability::kDeterministic;
  const std::string where = comparison.phase.empty() ? "" : " in " + OneLine(comparison.phase, 40);
  comparison.rule = context.GrowthRule(counter.demand);
  const bool moves = exact && range > kNotConstant * size;
  const bool worse_throughout = moves && IsWorseThroughout(context, counter, kernel_total);
  if (moves && !worse_throughout) {
    comparison.reason = fmt::format("not judged: {} varies by {} between processes of the same code",
                                    counter.facts.label, Percent(range / size));
    work.verdict.comparisons.push_back(std::move(comparison));
    return;
  }
  if (*comparison.base == *comparison.candidate) return;
  comparison.reason = fmt::format("{} {}{}", counter.facts.label,
                                  FromTo(*comparison.base, *comparison.candidate, comparison.unit), where);
  if (worse_throughout || IsWorse(context, counter, range, kernel_total)) {
    comparison.verdict = Verdict::kRegression;
    const double equal_code = worse_throughout ? Range(counter.before) : range;
    comparison.allowed = LimitsOf(context, counter, equal_code, kernel_total).Text(counter);
    if (worse_throughout) comparison.reason += ", in every process";
    comparison.reason += OwnerOf(counter.demand);
    Block(comparison, counter.demand.severity);
  } else if (Growth(counter) < 0.0 && counter.facts.polarity != Polarity::kNeutral &&
             -Growth(counter) > std::max(context.thresholds.counter_relative * std::abs(*comparison.base),
                                         context.thresholds.counter_aa_ranges * range)) {
    comparison.verdict = Verdict::kImproved;
  } else {
    comparison.reason.clear();
  }
  work.verdict.comparisons.push_back(std::move(comparison));
}

/// If the base has deterministic metrics of the kernel or its phases and the candidate has none, the case cannot pass:
/// nothing was compared. A faster kernel needs none.
void RequireCounters(const JudgeContext& context, CaseWork& work, const Gathered& before, const Gathered& after) {
  const bool faster = std::ranges::any_of(work.verdict.comparisons, [](const Comparison& comparison) {
    return (comparison.metric == kDuration || comparison.metric == kCycles) &&
           comparison.verdict == Verdict::kImproved && comparison.blocking;
  });
  if (faster && !work.not_slower.empty()) return;
  for (const bool of_phases : {false, true}) {
    const auto counts = [&](const MetricKey& key) {
      if (key.phase.empty() == of_phases || FindStaticMetric(key.metric) != nullptr) return false;
      const MetricFacts facts = FactsOf(key);
      return facts.stability == Stability::kDeterministic && facts.polarity != Polarity::kNeutral &&
             context.DemandOn(work, key.phase, key.metric).severity != Severity::kOff;
    };
    const auto first = std::ranges::find_if(before, [&](const auto& one) { return counts(one.first); });
    if (first == before.end()) continue;
    if (std::ranges::any_of(after, [&](const auto& one) { return counts(one.first); })) continue;
    Comparison comparison = Compared(first->first, MedianOf(first->second), {});
    comparison.tier = 1;
    Add(work, std::move(comparison), Verdict::kInconclusive, true,
        fmt::format("the base has counters of {}, the candidate has none", of_phases ? "phases" : "the kernel"));
  }
}

}  // namespace

bool CountersDiffer(const JudgeContext& context, const CaseWork& work) {
  const Gathered before = Gather(context.input.base, work.base_index);
  const Gathered after = Gather(context.input.candidate, work.candidate_index);
  return std::ranges::any_of(before, [&](const auto& one) {
    const auto& [key, values] = one;
    const auto other = after.find(key);
    if (!key.phase.empty() || other == after.end() || FindStaticMetric(key.metric) != nullptr) return false;
    const MetricFacts facts = FactsOf(key);
    if (facts.stability != Stability::kDeterministic || facts.polarity == Polarity::kNeutral) return false;
    const double difference = std::abs(*MedianOf(other->second) - *MedianOf(values));
    const double range = std::max(Range(values), Range(other->second));
    return difference > context.thresholds.counter_relative * std::abs(*MedianOf(values)) &&
           difference > context.thresholds.counter_aa_ranges * range;
  });
}

void JudgeCounters(const JudgeContext& context, CaseWork& work) {
  if (!work.compare_speed || work.verdict.identical || !context.comparable || !context.Dynamic()) return;
  const bool enough_pairs = context.RecordedInPairs();
  const bool code_known = !work.base->code.empty() && !work.candidate->code.empty();
  std::vector<Counter> counters;
  std::map<std::string, double> totals;  // over the base's phases
  Gathered base_values = Gather(context.input.base, work.base_index);
  Gathered candidate_values = Gather(context.input.candidate, work.candidate_index);
  RequireCounters(context, work, base_values, candidate_values);
  for (auto& [key, before] : base_values) {
    const auto after = candidate_values.find(key);
    if (after == candidate_values.end()) continue;
    if (key.metric == kDuration || key.metric == kCycles || key.metric == kPhaseTime) continue;  // tier 2 judges these
    Counter counter;
    counter.facts = FactsOf(key);
    const double base = *MedianOf(before);
    if (!key.phase.empty() && AddsUp(counter.facts.unit)) totals[key.metric] += base;
    counter.demand = context.DemandOn(work, key.phase, key.metric);
    const bool limited = counter.demand.relative || counter.demand.absolute;
    const bool exact = counter.facts.stability == Stability::kDeterministic;
    if (counter.demand.severity == Severity::kOff) continue;
    if (!limited && (!exact || counter.facts.polarity == Polarity::kNeutral)) continue;
    // A mean over code outside of phases changes with which code that is.
    if (!limited && key.phase == kUnattributed && !AddsUp(counter.facts.unit)) continue;
    if (!exact && enough_pairs) continue;                                 // the paired test judges it
    if (code_known && FindStaticMetric(key.metric) != nullptr) continue;  // tier 0 judged it
    counter.comparison = Compared(key, base, MedianOf(after->second));
    counter.comparison.tier = exact ? 1 : 2;
    counter.before = std::move(before);
    counter.after = std::move(after->second);
    counters.push_back(std::move(counter));
  }
  for (Counter& counter : counters) {
    const double total = totals[counter.comparison.metric];
    Conclude(context, work, std::move(counter), total);
  }
}

}  // namespace fa_profile::gate
