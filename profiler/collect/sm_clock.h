#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace fa_profile::collect {

/// The SM clock between two points in a stream, from the SMs' own counters: cycles and nanoseconds of each.
class SmClock {
 public:
  /// Allocates two stamps for each SM. Throws Error.
  SmClock();
  ~SmClock();
  SmClock(const SmClock&) = delete;
  SmClock& operator=(const SmClock&) = delete;

  /// Enqueues the first and the second stamp; may be captured in a graph. Throws Error.
  void Start(cudaStream_t stream) const { Stamp(0, stream); }
  void Stop(cudaStream_t stream) const { Stamp(1, stream); }

  /// Waits for `stream` and adds the difference between the two stamps to the sums.
  void Add(cudaStream_t stream);

  /// Waits for `stream` and clears the sums.
  void Forget(cudaStream_t stream);

  /// Median over the SMs of their cycles per second, over everything added; absent if nothing was.
  std::optional<double> Hertz() const;

 private:
  struct Passed {
    std::uint64_t cycles = 0;
    std::uint64_t nanoseconds = 0;
  };
  void Stamp(int which, cudaStream_t stream) const;

  int sm_count_ = 0;
  void* stamps_ = nullptr;  // device memory: SmStamp[2][sm_count_]
  std::vector<Passed> passed_;
};

}  // namespace fa_profile::collect
