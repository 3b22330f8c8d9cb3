#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace fa_profile {

/// Fills `data` (device, `count` elements) with standard normal numbers, rounded to fp16. Element i depends only on
/// (seed, tensor, i), so every GPU and launch order gives the same tensors. Enqueued on `stream`.
void FillNormal(__half* data, std::int64_t count, std::uint64_t seed, std::uint32_t tensor, cudaStream_t stream);

}  // namespace fa_profile
