#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/recording.h"
#include "fa_profile/workload.h"

namespace fa_profile {

/// Durations of calls of a workload, and how fast the SM clock ran meanwhile.
struct CallTiming {
  std::string method;                 ///< as Timing::method
  std::vector<double> durations_ns;   ///< one per sample
  std::optional<double> sm_clock_hz;  ///< of replays between the samples; absent when the SMs' counters said nothing
};

/// Times calls without a profiler, warm cache, as Timing does. The clock is read on the device itself (cycles and
/// nanoseconds of the same SM, around a replay after each sample), so that it is the one those calls ran at: NVML's is
/// that of a moment between them. One thread, with the device current.
class CallTimer {
 public:
  /// Throws Error: no device, no memory.
  CallTimer();
  ~CallTimer();
  CallTimer(const CallTimer&) = delete;
  CallTimer& operator=(const CallTimer&) = delete;

  /// `warmup` unmeasured calls, then `samples` samples. Throws Error when a launch fails.
  CallTiming Time(Workload& workload, int warmup, int samples);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Reasons for which the driver held the clocks down, in words; empty: none. Idle clocks and clocks an application
/// asked for are no reason. NVML's clocks event reasons.
std::vector<std::string> ThrottleReasons(const ClockSample& sample);

}  // namespace fa_profile
