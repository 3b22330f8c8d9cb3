#include "hopper/tensor_map.h"

#include <array>
#include <cstdint>

#include "hopper/layout.h"

namespace fa_profile::hopper {
namespace {

using EncodeTiled = decltype(&cuTensorMapEncodeTiled);

/// The driver's function, or why it is missing; the same for every call.
struct Driver {
  EncodeTiled encode = nullptr;
  cudaError_t status = cudaErrorNotSupported;
};

Driver FindDriver() {
  constexpr unsigned kIntroduced = 12000;  // CUDA 12.0
  void* found = nullptr;
  cudaDriverEntryPointQueryResult query = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, kIntroduced, cudaEnableDefault, &query);
  if (status != cudaSuccess) return {nullptr, status};
  if (query != cudaDriverEntryPointSuccess || found == nullptr) return {};
  return {reinterpret_cast<EncodeTiled>(found), cudaSuccess};
}

}  // namespace

cudaError_t EncodeMap(CUtensorMap& map, const void* tensor, CUtensorMapDataType type, const AttentionParams& params,
                      int box_rows, bool swizzled) {
  static const Driver driver = FindDriver();
  if (driver.status != cudaSuccess) return driver.status;
  constexpr cuuint64_t kElementBytes = 2;
  const auto head_dim = static_cast<cuuint64_t>(params.head_dim);
  const auto seqlen = static_cast<cuuint64_t>(params.seqlen);
  const auto heads = static_cast<cuuint64_t>(params.batch) * static_cast<cuuint64_t>(params.num_heads);
  const std::array<cuuint64_t, 3> sizes{head_dim, seqlen, heads};
  const std::array<cuuint64_t, 2> strides{head_dim * kElementBytes, seqlen * head_dim * kElementBytes};
  const std::array<cuuint32_t, 3> box{kSlabColumns, static_cast<cuuint32_t>(box_rows), 1};
  const std::array<cuuint32_t, 3> steps{1, 1, 1};
  // The driver takes a non-const pointer to data that it does not write.
  const CUresult result = driver.encode(&map, type, sizes.size(), const_cast<void*>(tensor), sizes.data(),
                                        strides.data(), box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
                                        swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
                                        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  // The driver's error numbers are the same as the runtime's.
  return static_cast<cudaError_t>(result);
}

cudaError_t CountSms(int& sms) {
  int device = 0;
  const cudaError_t status = cudaGetDevice(&device);
  return status != cudaSuccess ? status : cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
}

}  // namespace fa_profile::hopper
