#include "fa_profile/gate_state.h"

#include "fa_profile/gate_report.h"

namespace fa_profile::gate {

GateState GateStateOf(const GateResult& result) {
  GateState state;
  for (const CaseVerdict& verdict : result.cases) {
    GateState::Case& entry = state.cases[CaseTitle(verdict)];
    entry.verdict = ToString(verdict.verdict);
    for (const Comparison& comparison : verdict.comparisons) {
      if (comparison.metric == kDuration && comparison.phase.empty()) entry.change_ratio = comparison.change;
    }
  }
  if (result.control) {
    const ControlResult& control = *result.control;
    state.aa_trials = control.trials + control.equal_code_trials;
    state.aa_false_positives = control.false_positives + control.equal_code_worse;
  }
  return state;
}

}  // namespace fa_profile::gate
