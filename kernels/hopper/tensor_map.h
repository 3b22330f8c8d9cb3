#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include "rung.h"

namespace fa_profile::hopper {

/// The tensor map of `tensor` (batch * num_heads, seqlen, head_dim) with boxes of 64 columns and `box_rows` rows of one
/// head, in shared memory with the 128-byte swizzle unless `swizzled` is false. Calls the driver through the runtime:
/// nothing links libcuda.
cudaError_t EncodeMap(CUtensorMap& map, const void* tensor, CUtensorMapDataType type, const AttentionParams& params,
                      int box_rows, bool swizzled = true);

template <class Element>
constexpr CUtensorMapDataType MapType();
template <>
constexpr CUtensorMapDataType MapType<__half>() {
  return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
}
template <>
constexpr CUtensorMapDataType MapType<__nv_bfloat16>() {
  return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
}

/// How many SMs the current device has.
cudaError_t CountSms(int& sms);

}  // namespace fa_profile::hopper
