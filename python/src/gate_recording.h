#pragma once

#include <string>
#include <vector>

#include "fa_profile/gate.h"

namespace fa_profile::python {

/// What a recording is held to.
struct Question {
  std::string candidate;  ///< a recording, or evidence
  std::vector<std::string>
      baseline;                 ///< recordings or evidence of one build, or a promoted baseline; empty: limits alone
  std::string thresholds;       ///< text of a threshold file (docs/gate-reference.md); empty: the defaults
  std::string thresholds_name;  ///< what its errors and verdicts call it
};

/// The gate's verdict. Without a baseline nothing is compared: the rules' minima and maxima hold, and a wrong result is
/// a regression. Then passed cases have no text of their own. Throws Error as ParseThresholds(), LoadEvidence() and
/// Judge() do, and where no case of the candidate is in the baseline: nothing would be compared.
gate::GateResult JudgeRecording(const Question& question);

}  // namespace fa_profile::python
