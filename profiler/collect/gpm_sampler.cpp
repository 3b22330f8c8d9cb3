#include "gpm_sampler.h"

#include <cmath>
#include <utility>

namespace fa_profile::collect {
namespace {

constexpr std::chrono::milliseconds kShortestInterval{100};  // nvml.h at nvmlGpmSampleGet

std::optional<double> Ratio(const nvml::GpmMetric& percent) {
  if (percent.result != nvml::kSuccess || !std::isfinite(percent.value)) return std::nullopt;
  return percent.value / 100.0;
}

}  // namespace

GpmSampler::~GpmSampler() {
  for (const nvml::GpmSample sample : {before_, now_}) {
    if (sample != nullptr) (void)nvml_.Call(nvml::kGpmSampleFree, sample);
  }
}

std::string GpmSampler::Read(NvmlGpu& gpu, GpuReading& reading) {
  unsigned mig = 0;
  unsigned pending = 0;
  if (gpu.Note(nvml_.Call(nvml::kMigMode, gpu.device(), &mig, &pending)) == nvml::kSuccess &&
      mig == nvml::kMigEnabled) {
    before_taken_.reset();
    return "MIG mode is on: GPM answers for instances only, not for the device";
  }
  nvml::GpmSupport support{nvml::kGpmVersion, 0};
  nvml::Result result = gpu.Note(nvml_.Call(nvml::kGpmSupport, gpu.device(), &support));
  if (result == nvml::kFunctionNotFound) return "this driver's NVML has no GPM: update the driver";
  if (result == nvml::kNotSupported || (result == nvml::kSuccess && support.supported == 0)) {
    return "no GPM: it needs Hopper or newer";
  }
  if (result != nvml::kSuccess) return nvml_.Explain(nvml::kGpmSupport.name, result);

  const auto taken = std::chrono::steady_clock::now();
  if (before_taken_ && taken - *before_taken_ < kShortestInterval) return {};
  for (nvml::GpmSample* const sample : {&before_, &now_}) {
    if (*sample != nullptr) continue;
    result = nvml_.Call(nvml::kGpmSampleAlloc, sample);
    if (result != nvml::kSuccess) return nvml_.Explain(nvml::kGpmSampleAlloc.name, result);
  }
  result = gpu.Note(nvml_.Call(nvml::kGpmSampleGet, gpu.device(), now_));
  if (result != nvml::kSuccess) {
    before_taken_.reset();
    return nvml_.Explain(nvml::kGpmSampleGet.name, result);
  }
  if (before_taken_) result = Compare(gpu, reading);
  std::swap(before_, now_);
  before_taken_ = taken;
  return result == nvml::kSuccess ? std::string() : nvml_.Explain(nvml::kGpmMetricsGet.name, result);
}

nvml::Result GpmSampler::Compare(NvmlGpu& gpu, GpuReading& reading) const {
  nvml::GpmMetrics metrics{};
  metrics.version = nvml::kGpmVersion;
  metrics.count = 4;
  metrics.from = before_;
  metrics.to = now_;
  metrics.metrics[0].id = nvml::kGpmSmUtil;
  metrics.metrics[1].id = nvml::kGpmSmOccupancy;
  metrics.metrics[2].id = nvml::kGpmAnyTensorUtil;
  metrics.metrics[3].id = nvml::kGpmDramBandwidthUtil;
  const nvml::Result result = gpu.Note(nvml_.Call(nvml::kGpmMetricsGet, &metrics));
  if (result != nvml::kSuccess) return result;
  reading.sm_active_ratio = Ratio(metrics.metrics[0]);
  reading.sm_occupancy_ratio = Ratio(metrics.metrics[1]);
  reading.tensor_active_ratio = Ratio(metrics.metrics[2]);
  reading.dram_active_ratio = Ratio(metrics.metrics[3]);
  return result;
}

}  // namespace fa_profile::collect
