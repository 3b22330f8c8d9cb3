#pragma once

#include <functional>
#include <string>

#include "fa_profile/gpu_reading.h"

namespace fa_profile {

/// Reads the host's GPUs through NVML, the library of this name. A build without CUDA answers that it has no NVML.
std::function<HostReading()> MakeGpuReader(const std::string& library);

}  // namespace fa_profile
