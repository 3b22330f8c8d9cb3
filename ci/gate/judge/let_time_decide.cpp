#include "judge.h"

namespace fa_profile::gate {

void LetTimeDecide(CaseWork& work) {
  for (Comparison& comparison : work.verdict.comparisons) {
    // A suspicion that is a warning is not measured again, and so is not decided in the second stage.
    const bool undecided = comparison.verdict == Verdict::kSuspect ||
                           (comparison.verdict == Verdict::kInconclusive && comparison.metric == kPhaseTime);
    if ((!undecided && comparison.verdict != Verdict::kRegression) || comparison.metric == "correct") continue;
    if (work.broken_demands.contains(comparison.reason)) continue;  // a limit that does not depend on the base
    const bool time = comparison.metric == kDuration || comparison.metric == kCycles;
    if (!time && comparison.blocking && comparison.rule.empty() && !work.not_slower.empty()) {
      comparison.blocking = false;
      comparison.overruled = true;
      const bool known = !undecided || comparison.tier == 0;
      comparison.reason = (known ? comparison.reason : "perhaps worse") + ", and " + work.not_slower;
    } else if ((work.same_code || work.verdict.identical) && comparison.tier > 0) {
      comparison.reason += "; the machine code is equal: the launch, its arguments or the machine changed";
    }
  }
}

}  // namespace fa_profile::gate
