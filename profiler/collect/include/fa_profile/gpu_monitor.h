#pragma once

#include <memory>
#include <string>

#include "fa_profile/gpu_reading.h"

namespace fa_profile::collect {

/// Reads every GPU of this host through NVML, repeatedly, alongside other work: no CUDA context, no CUPTI. It does not
/// throw for NVML's failures: an absent library, a lost GPU and a question without an answer are reported in the
/// reading. What failed is tried again at each Read(), so a driver loaded later is found.
///
/// One thread, which need not be the one that made it. A call into a driver in trouble can take seconds: give it a
/// thread on which nothing else waits.
class GpuMonitor {
 public:
  /// `library`: a file name or path for dlopen. NVML itself is opened by the first Read().
  explicit GpuMonitor(std::string library = "libnvidia-ml.so.1");
  ~GpuMonitor();
  GpuMonitor(const GpuMonitor&) = delete;
  GpuMonitor& operator=(const GpuMonitor&) = delete;

  /// GPM ratios are means over the time since the previous Read(); if that was less than 0.1 s ago they are absent, and
  /// the next are means over the longer time.
  HostReading Read();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fa_profile::collect
