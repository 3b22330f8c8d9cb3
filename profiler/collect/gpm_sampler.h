#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "fa_profile/gpu_reading.h"
#include "nvml.h"

namespace fa_profile::collect {

/// GPM (Hopper and newer) of one GPU: activity counters of the whole device, separate from those that CUPTI programs,
/// read as the difference between two samples. Keeps the previous reading's sample.
class GpmSampler {
 public:
  /// `nvml` outlives this.
  explicit GpmSampler(const Nvml& nvml) : nvml_(nvml) {}
  ~GpmSampler();
  GpmSampler(const GpmSampler&) = delete;
  GpmSampler& operator=(const GpmSampler&) = delete;

  /// Takes a sample and fills in the ratios over the time since the last one. Returns why the GPU gave no sample; empty
  /// if it did, or if the last is less than 0.1 s old: NVML renews them no faster, and the next call then covers the
  /// longer time.
  std::string Read(NvmlGpu& gpu, GpuReading& reading);

 private:
  nvml::Result Compare(NvmlGpu& gpu, GpuReading& reading) const;

  const Nvml& nvml_;
  nvml::GpmSample before_ = nullptr;
  nvml::GpmSample now_ = nullptr;
  std::optional<std::chrono::steady_clock::time_point> before_taken_;
};

}  // namespace fa_profile::collect
