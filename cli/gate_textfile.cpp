#include "gate_textfile.h"

#include <prometheus/text_serializer.h>

#include "fa_profile/gate_report.h"
#include "fa_profile/page.h"

namespace fa_profile {

std::string GateTextfile(const GateResult& result) {
  GateState state;
  for (const CaseVerdict& verdict : result.cases) {
    GateState::Case& entry = state.cases[CaseTitle(verdict)];
    entry.verdict = ToString(verdict.verdict);
    for (const Comparison& comparison : verdict.comparisons) {
      if (comparison.metric == kDuration && comparison.phase.empty()) entry.change_ratio = comparison.change;
    }
  }
  if (result.control) {
    state.aa_trials = result.control->trials;
    state.aa_false_positives = result.control->false_positives;
  }
  PageInput input;
  input.gate = &state;
  return prometheus::TextSerializer().Serialize(MakeFamilies(input).families);
}

}  // namespace fa_profile
