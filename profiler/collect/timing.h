#pragma once

#include <cuda_runtime_api.h>

#include <functional>

#include "cuda_api.h"
#include "fa_profile/gpu_api.h"

namespace fa_profile::collect {

class SmClock;

/// Times `enqueue` (which puts one call on the stream it is given) without any profiler attached.
///
/// Warm cache: the call is captured in a CUDA graph, repeated inside it until a replay lasts about 200 us, and each
/// sample is one replay between two events, divided by the repeats. The repeats keep the events' own cost (about 2 us)
/// out of the number; it includes the gap between back-to-back launches, which is what a caller sees. Flushed cache:
/// each call is timed by itself between two events, after the L2 was overwritten. `between` runs before each sample and
/// may throw; it may be empty. `clock`: with a warm cache, after each sample the same replay runs once more,
/// unmeasured, between two of its stamps. Not around the samples, which include the host's pauses: there the clock is
/// that of an idle GPU.
CallTiming TimeLaunches(const std::function<void(StreamHandle)>& enqueue, int samples, const CacheFlusher& flusher,
                        const std::function<void()>& between, SmClock* clock = nullptr);

}  // namespace fa_profile::collect
