#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "fa_profile/gate_statistics.h"
#include "fa_profile/units.h"
#include "judge.h"

namespace fa_profile::gate {
namespace {

/// A process is slow if its time exceeds the median of all processes in its stage by this many tolerances. Three: a
/// candidate that is slower by just the tolerance must still scatter by two more to have a slow process.
constexpr double kSlowTolerances = 3.0;
/// Probability of suspecting a candidate that is like the base. A suspicion costs new pairs, and slow processes are
/// rare.
constexpr double kSuspectSlow = 0.125;
/// One slow process is an accident.
constexpr int kFewestSlow = 2;

/// A larger share is an overall slow-down, which the test of the centre finds and reports.
constexpr double kMostSlow = 0.75;

/// One case whose slow processes are suspect.
struct SlowCase {
  std::size_t work = 0;
  double tolerance = 0.0;
  Demand demand;
  SlowProcesses first, second;
};

std::string Told(const SlowProcesses& slow, double tolerance, const char* which) {
  return fmt::format("{} of {}{} processes took over {} more than the median, of the base's {} of {} (p {:.2g})",
                     slow.of_candidate, slow.candidates, which, Percent(kSlowTolerances * tolerance), slow.of_base,
                     slow.bases, slow.p);
}

std::optional<SlowCase> Suspect(const JudgeContext& context, const PairedTest& test) {
  SlowCase slow;
  slow.work = test.work;
  slow.demand = test.demand;
  slow.tolerance = std::expm1(test.differences.limit);
  const double above = std::log1p(kSlowTolerances * slow.tolerance);
  slow.first = CountSlow(test.differences.first, above);
  const bool nearly_all = slow.first.of_candidate > kMostSlow * slow.first.candidates;
  if (slow.first.of_candidate < kFewestSlow || nearly_all || slow.first.p > kSuspectSlow) return std::nullopt;
  if (context.input.second_stage) slow.second = CountSlow(test.differences.second, above);
  return slow;
}

void Tell(const JudgeContext& context, const SlowCase& slow, double p_adjusted, const ControlResult* control,
          CaseWork& work) {
  const bool again = slow.second.candidates > 0;
  const SlowProcesses& last = again ? slow.second : slow.first;
  Comparison comparison;
  comparison.metric = kSlowProcesses;
  comparison.unit = FactsOf({"", kSlowProcesses}).unit;
  comparison.tier = 2;
  comparison.rule = context.GrowthRule(slow.demand);
  comparison.base = static_cast<double>(last.of_base) / std::max(1, last.bases);
  comparison.candidate = static_cast<double>(last.of_candidate) / std::max(1, last.candidates);
  comparison.p = last.p;
  comparison.pairs = last.candidates;
  comparison.reason = Told(last, slow.tolerance, again ? " new" : "");
  Block(comparison, slow.demand.severity);
  if (control != nullptr && !control->passed) {
    comparison.verdict = Verdict::kInconclusive;
    comparison.reason = "a control of this run failed or is missing";
  } else if (!context.input.second_stage) {
    comparison.verdict = Verdict::kSuspect;
    comparison.reason += ": has to be measured again";
  } else if (!again) {
    comparison.verdict = Verdict::kInconclusive;
    comparison.reason += ", but unconfirmed: not measured again";
  } else {
    comparison.p_adjusted = p_adjusted;
    const bool confirmed = p_adjusted <= context.thresholds.regression_level;
    comparison.verdict = confirmed ? Verdict::kRegression : Verdict::kPass;
    comparison.reason = confirmed ? comparison.reason + OwnerOf(slow.demand)
                                  : Told(slow.first, slow.tolerance, "") + ": not confirmed by " +
                                        std::to_string(last.candidates) + " new pairs";
  }
  if (comparison.verdict != Verdict::kPass) work.not_slower.clear();
  work.verdict.comparisons.push_back(std::move(comparison));
}

}  // namespace

void JudgeSlowProcesses(const JudgeContext& context, const std::vector<const PairedTest*>& calls,
                        const ControlResult* control, std::vector<CaseWork>& works) {
  std::vector<SlowCase> suspects;
  for (const PairedTest* const call : calls) {
    if (auto slow = Suspect(context, *call)) suspects.push_back(std::move(*slow));
  }
  std::vector<double> p;
  std::vector<double> caps;  // as in Confirm(): what the blocks can show
  for (const SlowCase& slow : suspects) {
    p.push_back(slow.second.p);
    caps.push_back(std::max(1.0, std::floor(context.thresholds.regression_level / slow.second.least_p)));
  }
  const std::vector<double> adjusted = HolmAdjust(p, caps);
  for (std::size_t i = 0; i < suspects.size(); ++i) {
    Tell(context, suspects[i], adjusted[i], control, works[suspects[i].work]);
  }
}

}  // namespace fa_profile::gate
