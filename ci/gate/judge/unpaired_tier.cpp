#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "fa_profile/gate_statistics.h"
#include "fa_profile/units.h"
#include "judge.h"

namespace fa_profile::gate {
namespace {

/// With this many processes of the base their own spread is the error term.
constexpr std::size_t kEnoughProcesses = 8;

/// Standard deviations beyond which a difference is not noise: processes have heavier tails than a normal distribution.
constexpr double kSigmas = 6.0;

/// Standard deviation between processes of the same code, for calls of several lengths on an H200: 0.28 to 0.63 %. The
/// least is the floor for a lucky baseline; the most is used if there are too few processes to estimate it.
constexpr double kLeastSpread = 0.003;
constexpr double kMostSpread = 0.0063;

/// Standard deviation of a normal distribution over its median absolute deviation.
constexpr double kMadToSigma = 1.4826;

/// How far apart two medians of the same code may be.
double Noise(const std::vector<double>& before, double scale) {
  // With few processes the errors of both sides count: two processes differ by sqrt(2) times the deviation of one.
  if (before.size() < kEnoughProcesses) return kSigmas * std::sqrt(2.0) * kMostSpread;
  const double median = Median(before);
  std::vector<double> deviations(before.size());
  std::ranges::transform(before, deviations.begin(), [&](double value) { return std::abs(value - median); });
  return kSigmas * std::max(kLeastSpread, kMadToSigma * Median(deviations) / scale);
}

void Conclude(const JudgeContext& context, const Demand& demand, double tolerance, double noise,
              Comparison& comparison) {
  const bool promoted = context.input.base_is_promoted;
  const double limit = std::max(tolerance, context.thresholds.budget);
  const double change = *comparison.change;
  comparison.tier = promoted ? 3 : 2;
  comparison.rule = context.GrowthRule(demand);
  Block(comparison, demand.severity);
  if (change > limit && change > noise) {
    comparison.verdict = Verdict::kRegression;
    comparison.reason = promoted ? fmt::format("drifted over the budget of {}", Percent(limit))
                                 : fmt::format("worse by more than {}", Percent(std::max(limit, noise)));
  } else if (change > limit || (change > tolerance && !promoted)) {
    comparison.verdict = Verdict::kSuspect;
    comparison.reason = fmt::format("too few processes to tell {} from noise: run gate --pair", Percent(change));
  } else if (change > tolerance) {
    comparison.reason = fmt::format("drifted, within the budget of {}", Percent(limit));
  } else if (-change > limit && -change > noise) {
    comparison.verdict = Verdict::kImproved;
    comparison.blocking = comparison.phase.empty();  // only the time of the whole call improves the case
  }
}

std::optional<Comparison> JudgeTime(const JudgeContext& context, const CaseWork& work, bool cycles) {
  const GateInput& input = context.input;
  const std::string kind = DurationKind(input.base, work.base_index);
  const std::string other_kind = DurationKind(input.candidate, work.candidate_index);
  const std::string metric = cycles ? kCycles : kDuration;
  const std::vector<double> before = Samples(input.base, work.base_index, kind, {"", metric}, false);
  const std::vector<double> after = Samples(input.candidate, work.candidate_index, other_kind, {"", metric}, false);
  const Demand demand = TimeDemand(context, work, cycles);
  if (before.empty() || after.empty() || demand.severity == Severity::kOff) return std::nullopt;
  Comparison comparison = Compared({"", metric}, Median(before), Median(after));
  if (*comparison.base <= 0.0) return std::nullopt;
  const auto seconds = MedianOf(Samples(input.base, work.base_index, kind, {"", kDuration}, false));
  const double tolerance = TimeTolerance(context, work, seconds, cycles ? comparison.base : std::nullopt, cycles);
  Conclude(context, demand, tolerance, Noise(before, *comparison.base), comparison);
  return comparison;
}

void JudgePhases(const JudgeContext& context, CaseWork& work) {
  const auto share = [](const std::map<std::string, double>& shares, const std::string& phase) {
    const auto found = shares.find(phase);
    return found == shares.end() ? 0.0 : found->second;
  };
  for (const auto& [phase, growth] : PhaseGrowth(context, work)) {
    const Demand demand = context.DemandOn(work, phase, kPhaseTime);
    if (demand.severity == Severity::kOff) continue;
    Comparison comparison =
        Compared({phase, kPhaseTime}, share(work.base_shares, phase), share(work.candidate_shares, phase));
    comparison.change = growth;  // as a share of the base kernel's time
    const std::vector<double> samples =
        Samples(context.input.base, work.base_index, "recording", {phase, kPhaseTime}, true);
    Conclude(context, demand, PhaseTolerance(context, demand, *comparison.base), Noise(samples, 1.0), comparison);
    if (comparison.verdict == Verdict::kRegression) comparison.reason += OwnerOf(demand);
    work.verdict.comparisons.push_back(std::move(comparison));
  }
}

}  // namespace

void JudgeUnpaired(const JudgeContext& context, CaseWork& work) {
  std::optional<Comparison> time = JudgeTime(context, work, false);
  std::optional<Comparison> cycles = JudgeTime(context, work, true);
  if (time && cycles) WeighClock(&*time, &*cycles, false);
  for (std::optional<Comparison>* const comparison : {&time, &cycles}) {
    if (!*comparison) continue;
    if ((*comparison)->verdict == Verdict::kRegression) {
      (*comparison)->reason += OwnerOf(TimeDemand(context, work, comparison == &cycles));
    }
    work.verdict.comparisons.push_back(std::move(**comparison));
  }
  JudgePhases(context, work);
}

}  // namespace fa_profile::gate
