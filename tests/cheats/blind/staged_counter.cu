// Honest: persistent blocks stage rows through three buffers of shared memory with asynchronous copies and take row
// groups from a counter on the device, which a memset of each call sets to zero.
#include <cuda_pipeline.h>

#include "common.cuh"

constexpr int kStages = 3, kChunk = 256;  // floats of a row in one stage
__device__ int next_row;
__global__ void Staged(Mean a) {  // a block a row at a time
  __shared__ alignas(16) float stage[kStages][kChunk];
  __shared__ float parts[kThreads / 32];
  __shared__ int row;
  for (;;) {
    if (threadIdx.x == 0) row = atomicAdd(&next_row, 1);
    __syncthreads();
    if (row >= a.rows) return;
    const float* x = a.x + int64_t{row} * a.cols;
    const int chunks = a.cols / kChunk;
    auto fetch = [&](int chunk) {
      if (chunk < chunks)
        __pipeline_memcpy_async(&stage[chunk % kStages][threadIdx.x], x + chunk * kChunk + threadIdx.x, 4);
      __pipeline_commit();
    };
    for (int chunk = 0; chunk < kStages - 1; ++chunk) fetch(chunk);
    float sum = 0.0F;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      fetch(chunk + kStages - 1);
      __pipeline_wait_prior(kStages - 1);  // a thread reads only what it copied
      const float value = stage[chunk % kStages][threadIdx.x];
      sum += value * value;
    }
    sum = WarpSum(sum);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
      float all = 0.0F;
      for (float part : parts) all += part;
      a.y[row] = all / a.cols;
    }
    __syncthreads();  // `row` and `parts` are used again
  }
}

LAUNCH {
  static void* const counter = [] {
    void* address = nullptr;
    cudaGetSymbolAddress(&address, next_row);
    return address;
  }();
  static const int blocks = [] {
    int count = 0;
    cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0);
    return 2 * count;
  }();
  cudaMemsetAsync(counter, 0, sizeof(int), Stream(call));
  Staged<<<blocks, kThreads, 0, Stream(call)>>>(MeanOf(call));
  return Done();
}
static int WholeChunks(const fa_profile_call* call, char* error, size_t error_size) {
  return call->parameters[1] % kChunk == 0 ? 0 : std::snprintf(error, error_size, "cols must be a multiple of 256");
}
MEAN_TENSORS(1e-6, 1e-5)
EXPORT_WITH("staged_counter", kMeanParameters, .supports = WholeChunks, .reference = MeanReference, .work = MeanWork)
