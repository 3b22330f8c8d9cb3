#pragma once

#include <string>
#include <vector>

#include "fa_profile/gpu_api.h"

namespace fa_profile::collect {

/// Times calls without a profiler, warm cache, as in Timing: `warmup` unmeasured calls, then `samples` samples. The
/// clock is read on the device itself (cycles and nanoseconds of the same SM, around a replay after each sample), so
/// that it is the clock of those calls: NVML would read it at some moment between them. With the device current. Throws
/// Error: no device, no memory, a launch that fails.
CallTiming TimeCalls(Workload& workload, int warmup, int samples);

/// Why the driver held the clocks down, in words; empty if it did not. Idle clocks, and clocks set by an application,
/// do not count. From NVML's clocks event reasons.
std::vector<std::string> ThrottleReasons(const ClockSample& sample);

}  // namespace fa_profile::collect
