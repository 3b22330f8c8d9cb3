#pragma once

#include <functional>
#include <memory>

#include "fa_profile/gpu_reading.h"

namespace fa_profile::serve {

/// Reads in a separate thread, because calls into a broken driver may never return: neither a collection nor the end of
/// the program waits for them.
class BackgroundGpuReader {
 public:
  /// Waits at most two seconds for the first reading.
  BackgroundGpuReader(std::function<HostReading()> read, double interval_seconds);
  ~BackgroundGpuReader();
  BackgroundGpuReader(const BackgroundGpuReader&) = delete;
  BackgroundGpuReader& operator=(const BackgroundGpuReader&) = delete;

  /// The newest reading. After three intervals (at least five seconds) without one: a reading without NVML, and why.
  HostReading Latest() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  double most_age_seconds_;
};

}  // namespace fa_profile::serve
