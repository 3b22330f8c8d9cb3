#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fa_profile/evidence.h"

namespace fa_profile::gate {

/// The output of one process of `fa-profile gate-sample` (docs/gate-reference.md).
struct TimingSample {
  struct Case {
    std::string kernel;
    std::string shape;
    double duration_seconds = 0.0;          ///< median of the process's launches
    std::optional<double> duration_cycles;  ///< absent: the clock is unknown
    std::string error;                      ///< why it was not timed; empty: it was
    std::string refused;                    ///< why the judge does not certify it; empty: it does, or was not asked
    std::string untimed;                    ///< why the judge cannot time it; empty: it can, or was not asked
  };
  Environment environment;
  bool throttled = false;
  std::optional<double> temperature_celsius;
  std::optional<double> sm_clock_hz;
  std::vector<Case> cases;
};

/// Reads the last line of `output` that is a sample: a kernel may print too. Throws Error without one: no JSON, another
/// version, a value that is missing, of the wrong kind, not finite or not above 0.
TimingSample ParseTimingSample(const std::string& output);

}  // namespace fa_profile::gate
