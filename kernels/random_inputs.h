#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace fa_profile {

/// Fills `data` (device, `count` elements) with numbers of the standard normal distribution, rounded to fp16. Element i
/// is a function of (seed, tensor, i) alone, so every GPU and launch order gives the same tensors. Enqueued on
/// `stream`.
void FillNormal(__half* data, std::int64_t count, std::uint64_t seed, std::uint32_t tensor, cudaStream_t stream);

}  // namespace fa_profile
