#pragma once

#include <functional>
#include <memory>

#include "fa_profile/gpu_reading.h"

namespace fa_profile {

/// Reads in a thread of its own, because a sick driver lets no call return: neither a collection nor the end of the
/// program waits for it.
class BackgroundGpuReader {
 public:
  /// Waits at most two seconds for the first reading.
  BackgroundGpuReader(std::function<HostReading()> read, double interval_seconds);
  ~BackgroundGpuReader();
  BackgroundGpuReader(const BackgroundGpuReader&) = delete;
  BackgroundGpuReader& operator=(const BackgroundGpuReader&) = delete;

  /// The newest reading; one without NVML that says so when it is older than three intervals (at least five seconds).
  HostReading Latest() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  double most_age_seconds_;
};

}  // namespace fa_profile
