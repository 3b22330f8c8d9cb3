#pragma once

#include <memory>
#include <string>

#include "fa_profile/gpu_api.h"

namespace fa_profile::collect {

/// CUPTI and the CUDA runtime on the current device, which `device` describes and which outlives the result.
/// `flush_cache`: FlushCache() overwrites the L2. `cache_dir`: where validated metric plans are kept; empty: nowhere.
std::unique_ptr<GpuApi> OpenGpuApi(const Device& device, bool flush_cache, const std::string& cache_dir);

/// Must be called before the process's first NVTX call: it lets CUPTI see NVTX ranges (CUPTI is an NVTX injection
/// library and is looked up once). Keeps a value set by the user.
void PrepareProcessForNvtx();

}  // namespace fa_profile::collect
