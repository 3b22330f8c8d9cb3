#pragma once

#include <string>
#include <vector>

#include "fa_profile/gpu_api.h"

namespace fa_profile::collect {

/// Times calls without a profiler, warm cache, as Timing does: `warmup` unmeasured calls, then `samples` samples. The
/// clock is read on the device itself (cycles and nanoseconds of the same SM, around a replay after each sample), so
/// that it is the clock of those calls: NVML reads the clock of a moment between them. With the device current. Throws
/// Error: no device, no memory, a launch that fails.
CallTiming TimeCalls(Workload& workload, int warmup, int samples);

/// Why the driver held the clocks down, in words; empty when it did not. Idle clocks, and clocks that an application
/// asked for, do not count. From NVML's clocks event reasons.
std::vector<std::string> ThrottleReasons(const ClockSample& sample);

}  // namespace fa_profile::collect
