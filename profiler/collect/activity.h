#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile {

/// What the activity API saw while something ran.
struct ActivityTrace {
  std::vector<Launch> launches;        ///< by start time; case_id, part and id are not set
  std::vector<NvtxRange> nvtx_ranges;  ///< by start time; case_id not set
  std::int64_t records_dropped = 0;
};

/// Runs `body` with kernel and NVTX activity recorded. The device must be idle before; `body` must leave it idle. Off
/// otherwise, because recording costs about 0.8 us of CPU time a launch. Not reentrant; one thread.
ActivityTrace TraceActivity(const std::function<void()>& body);

}  // namespace fa_profile
