#pragma once

#include <map>
#include <optional>
#include <string>

namespace fa_profile {

/// Verdicts of the gate.
struct GateState {
  struct Case {
    std::string verdict;  ///< "PASS", "REGRESSION", ...
    std::optional<double> change_ratio;
  };
  std::map<std::string, Case> cases;
  double aa_trials = 0;
  double aa_false_positives = 0;
};

}  // namespace fa_profile
