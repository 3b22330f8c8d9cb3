#include <algorithm>

#include "judge.h"

namespace fa_profile::gate {
namespace {

bool IsTime(const Comparison& comparison) { return comparison.metric == kDuration || comparison.metric == kCycles; }

/// Time speaks against the comparison, but is not known well enough to overrule it.
void Suspect(Comparison& comparison, CaseVerdict& verdict, const std::string& why) {
  comparison.verdict = Verdict::kSuspect;
  for (Comparison& time : verdict.comparisons) {
    if (IsTime(time) && time.phase.empty() && time.reason.empty()) time.reason = why;
  }
}

}  // namespace

void LetTimeDecide(CaseWork& work) {
  const bool faster = std::ranges::any_of(work.verdict.comparisons, [](const Comparison& comparison) {
    return IsTime(comparison) && comparison.blocking && comparison.verdict == Verdict::kImproved;
  });
  for (Comparison& comparison : work.verdict.comparisons) {
    // A suspicion that is a warning is not measured again, and so is not decided in the second stage.
    const bool undecided = comparison.verdict == Verdict::kSuspect ||
                           (comparison.verdict == Verdict::kInconclusive && comparison.metric == kPhaseTime);
    const bool gone = comparison.verdict == Verdict::kMissing && faster;  // a phase of a call that is faster
    const bool known = comparison.verdict == Verdict::kRegression || gone;
    if ((!undecided && !known) || comparison.metric == "correct") continue;
    if (work.broken_demands.contains(comparison.reason)) continue;  // a limit that does not depend on the base
    const bool stands_for_time = !IsTime(comparison) && comparison.blocking && comparison.rule.empty();
    if (stands_for_time && !work.not_slower.empty()) {
      comparison.blocking = false;
      comparison.overruled = true;
      comparison.reason =
          (known || comparison.tier == 0 ? comparison.reason : "perhaps worse") + ", and " + work.not_slower;
    } else if (stands_for_time && comparison.verdict == Verdict::kRegression && !work.perhaps_faster.empty()) {
      Suspect(comparison, work.verdict, work.perhaps_faster);
    } else if ((work.same_code || work.verdict.identical) && comparison.tier > 0) {
      comparison.reason += work.verdict.same_host_code.value_or(true)
                               ? "; the machine code is equal: the launch, its arguments or the machine changed"
                               : "; the machine code is equal, the host code is not";
    }
  }
}

}  // namespace fa_profile::gate
