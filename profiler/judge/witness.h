#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "fa_profile/gpu_api.h"
#include "fa_profile/judgement.h"

namespace fa_profile::judge {

/// What the whole device did while something ran, from its counters: every process, stream and thread.
struct Watched {
  DeviceCounts counts;
  double busy_ns = 0;        ///< from the first cycle in which an SM held a warp to the last
  double elapsed_ns = 0;     ///< until the one that was asked to do it has answered; 0: not known
  bool quiet_before = true;  ///< nothing ran from the start of watching to the beginning of `work`
  bool quiet_after = true;   ///< nothing ran at the end of watching
  bool complete = true;      ///< no reading was lost
};

/// Combines two pieces of work: the sum of what they did, and whether both went well.
Watched& operator+=(Watched& sum, const Watched& more);

/// Samples the counters of the whole device from this process. A GPU takes only one, and no other profiler. (PM
/// sampling: a process without any work counts another's instructions exactly, its busy time to 0.5 %.)
class Witness {
 public:
  /// `longest_ns`: of the watched work, if it is long; it decides how often the counters are read. Throws Error: the
  /// GPU or its driver has no such counters, or something else holds them.
  Witness(collect::GpuApi& gpu, double longest_ns);

  /// Longer work overflows the buffer, and readings are lost.
  double longest_ns() const;

  /// Runs `work`, before and after which the device must be idle, and then `read`, which takes the results: nothing
  /// that they depend on is missed. `read` must not make an SM work.
  Watched Watch(
      const std::function<void()>& work, const std::function<void()>& read = [] {});

 private:
  std::int64_t interval_ns_;
  std::unique_ptr<collect::PmSampler> sampler_;
};

/// The same for readings, in order; `interval_ns`: between two. The first reading is ignored: it contains what the
/// counters kept from before. `settle_ns`: how long nothing may run at either end.
Watched SumReadings(const collect::PmReadings& taken, std::int64_t interval_ns, std::int64_t settle_ns);

}  // namespace fa_profile::judge
