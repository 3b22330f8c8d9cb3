#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cuda_api.h"

namespace fa_profile {

class SmClock;

struct TimedLaunches {
  std::string method;
  std::vector<double> durations_ns;   ///< one per sample
  std::optional<double> sm_clock_hz;  ///< between the samples, when it was asked for and could be read
};

/// Times `enqueue` (which puts one call on the stream it is given) without any profiler attached.
///
/// Warm cache: the call is captured in a CUDA graph, repeated inside it until a replay lasts about 200 us, and each
/// sample is one replay between two events, divided by the repeats. The repeats keep the events' own cost (about 2 us)
/// out of the number; it includes the gap between back-to-back launches, which is what a caller sees.
/// Flushed cache: each call is timed by itself between two events, after the L2 was overwritten.
/// `clock`: after each sample of a warm cache the same replay runs once more between two stamps of it, unmeasured. Not
/// around the samples, where the host's pauses are: in them the clock is that of an idle GPU.
TimedLaunches TimeLaunches(const std::function<void(cudaStream_t)>& enqueue, int samples, const CacheFlusher& flusher,
                           const std::function<bool()>& cancelled, SmClock* clock = nullptr);

}  // namespace fa_profile
