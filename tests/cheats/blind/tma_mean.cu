// Honest: blocks read their rows by TMA: a tensor map, made anew in each call, and a barrier that counts the bytes of a
// box of 8 rows and 32 columns.
#include <cuda.h>

#include "common.cuh"

constexpr int kBoxCols = 32;
__global__ void MeanByTma(const __grid_constant__ CUtensorMap map, Mean a) {
  __shared__ alignas(128) float box[kRowsPerBlock][kBoxCols];
  __shared__ alignas(8) uint64_t barrier;
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(box));
  const auto bar = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  const int warp = threadIdx.x / 32, row = RowOfWarp();
  if (threadIdx.x == 0)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;" ::"r"(bar) : "memory");
  __syncthreads();
  float sum = 0.0F;
  for (int col = 0, phase = 0; col < a.cols; col += kBoxCols, phase ^= 1) {
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "n"(sizeof(box)) : "memory");
      asm volatile(
          "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
              "r"(to),
          "l"(&map), "r"(col), "r"(int(blockIdx.x) * kRowsPerBlock), "r"(bar)
          : "memory");
    }
    for (unsigned ready = 0; ready == 0;) {
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(ready)
                   : "r"(bar), "r"(phase)
                   : "memory");
    }
    sum += box[warp][threadIdx.x % 32] * box[warp][threadIdx.x % 32];  // columns and rows beyond the tensor are zero
    __syncthreads();
  }
  sum = WarpSum(sum) / a.cols;
  if (threadIdx.x % 32 == 0 && row < a.rows) a.y[row] = sum;
}

LAUNCH {
  const Mean a = MeanOf(call);
  decltype(&cuTensorMapEncodeTiled) encode = nullptr;
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", reinterpret_cast<void**>(&encode), 12000,
                                   cudaEnableDefault, &found);
  CUtensorMap map;
  const cuuint64_t extents[] = {cuuint64_t(a.cols), cuuint64_t(a.rows)},
                   strides[] = {cuuint64_t(a.cols) * sizeof(float)};
  const cuuint32_t boxes[] = {kBoxCols, kRowsPerBlock}, steps[] = {1, 1};
  if (encode == nullptr ||
      encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, const_cast<float*>(a.x), extents, strides, boxes, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
    return std::snprintf(error, error_size, "no tensor map: cols must be a multiple of 4");
  MeanByTma<<<MeanBlocks(a), kThreads, 0, Stream(call)>>>(map, a);
  return Done();
}
EXPORT_MEAN("tma_mean")
