#pragma once

#include <cuda.h>
#include <cupti.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fa_profile/gpu_api.h"

/// CUPTI's objects that implement gpu_api.h, one source file each.
namespace fa_profile::collect {

/// The device's counter availability image, from which a plan knows what this driver and machine do not allow.
std::vector<std::uint8_t> CounterAvailability(CUcontext context);

std::unique_ptr<RangeProfiler> OpenRangeProfiler(CUcontext context);
std::unique_ptr<PcSampler> OpenPcSampler(CUcontext context, std::uint32_t period_cycles);
/// The machine code that a CUPTI_CBID_RESOURCE_MODULE_LOADED is about; valid during the callback, may be empty.
std::span<const std::uint8_t> CubinOf(const CUpti_ResourceData& loaded) noexcept;
std::vector<std::string> SassMetrics(const std::string& chip);
std::unique_ptr<SassCounter> OpenSassCounter(const Device& device, CUcontext context,
                                             const std::vector<std::string>& metrics);
std::unique_ptr<ModuleCapture> CaptureModules();
std::unique_ptr<PmSampler> OpenPmSampler(const Device& device, CUcontext context, std::span<const std::string> metrics,
                                         std::int64_t interval_ns);

/// GpuApi::Trace(). The activity API is off otherwise, because recording costs about 0.8 us of CPU time per launch. Not
/// reentrant; one thread.
ActivityTrace TraceActivity(const std::function<void()>& body);

}  // namespace fa_profile::collect
