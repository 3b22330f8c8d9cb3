#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fa_profile/python_runner.h"
#include "fa_profile/recording.h"

namespace fa_profile::python {

/// What was measured of one case.
struct MeasuredCase {
  std::string name;
  std::optional<Verification> verification;  ///< absent: not asked for
  std::optional<Judgement> judgement;        ///< absent: likewise
  std::optional<Timing> timing;              ///< absent: not asked for, or not timed
  std::optional<Recording> program;          ///< of the process that called it, with cubins; absent: not measured
  PythonCalls calls;                         ///< of that process
};

/// A recording of kernels, as the ladder's is: a case is a function at a shape. What its launches have in common with a
/// program's is gone. `base`: session and device.
///
/// A call of one launch has the counters of that launch. Of a call of several, each kernel is a part: its counts and
/// times are those of all its launches in a call, and counts of the call are the sums of its parts'. Samples and counts
/// per instruction are of the call. How often a call launches a kernel is counted in the NVTX range kCountRange; where
/// that is not a whole number, the mean is used, and a DataLoss tells it. Raw counter data is not kept.
Recording ToKernelRecording(Recording base, const std::string& origin, std::vector<MeasuredCase> cases);

}  // namespace fa_profile::python
