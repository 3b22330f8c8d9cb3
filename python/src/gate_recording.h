#pragma once

#include <string>
#include <vector>

#include "fa_profile/gate.h"

namespace fa_profile::python {

/// What a recording is checked against.
struct Question {
  std::string candidate;  ///< a recording, or evidence
  std::vector<std::string>
      baseline;                 ///< recordings or evidence of one build, or a promoted baseline; empty: only limits
  std::string thresholds;       ///< text of a threshold file (docs/gate-reference.md); empty: the defaults
  std::string thresholds_name;  ///< its name in errors and verdicts
};

/// The gate's verdict. Without a baseline nothing is compared: the rules' minima and maxima apply, and a wrong result
/// is a regression; passed cases then have no text of their own. Throws Error like ParseThresholds(), LoadEvidence()
/// and Judge(), and if no case of the candidate is in the baseline: nothing would be compared.
gate::GateResult JudgeRecording(const Question& question);

}  // namespace fa_profile::python
