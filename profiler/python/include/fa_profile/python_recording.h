#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fa_profile/python_runner.h"
#include "fa_profile/recording.h"

namespace fa_profile::python {

/// The measurements of one case.
struct MeasuredCase {
  std::string name;
  std::optional<Verification> verification;  ///< absent: not requested
  std::optional<Judgement> judgement;        ///< absent: not requested
  std::optional<Timing> timing;              ///< absent: not requested, or not timed
  std::optional<Recording> program;          ///< from the process that called it, with cubins; absent: not measured
  PythonCalls calls;                         ///< in that process
};

/// A recording of kernels, like the ladder's: a case is a function at a shape. What its launches share with a program's
/// is gone. `base`: session and device.
///
/// A call with one launch has the counters of that launch. In a call with several, each kernel is a part: its counts
/// and times are those of all its launches in a call, and counts of the call are the sums of its parts'. Samples and
/// counts per instruction belong to the call. How often a call launches a kernel is counted in the NVTX range
/// kCountRange; if that is not a whole number, the mean is used, and a DataLoss reports it. Raw counter data is not
/// kept.
Recording ToKernelRecording(Recording base, const std::string& origin, std::vector<MeasuredCase> cases);

}  // namespace fa_profile::python
