#pragma once

#include <functional>
#include <optional>
#include <string>

#include "fa_profile/gpu_reading.h"

namespace fa_profile {

/// Reads the host's GPUs through NVML, the library of this name. A build without CUDA answers that it has no NVML.
std::function<HostReading()> MakeGpuReader(const std::string& library);

/// Processes with a compute context on the GPU of this UUID, as NVML counts them. Absent: it does not say, or this
/// build has no CUDA.
std::optional<unsigned> ComputeProcesses(const std::string& uuid);

}  // namespace fa_profile
