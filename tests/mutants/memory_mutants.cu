#include <cstdint>

#include "mutants.h"

namespace {

constexpr int kThreads = 256;
constexpr int kRows = 4096;  // of kRows floats each: 64 MB
constexpr int kOccupancyBytes = 4 * kRows * kRows;

// Thread i of a warp takes column i of one row: 128 bytes in 4 sectors.
__global__ void __launch_bounds__(kThreads) CoalescedKernel(const float* from, float* to) {
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  to[i] = from[i] + 1.0F;
}

// Thread i takes row i of one column: 32 sectors, 4 bytes used of each. Stores stay coalesced.
__global__ void __launch_bounds__(kThreads) UncoalescedKernel(const float* from, float* to) {
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  const int row = i % kRows;
  const int column = i / kRows;
  to[i] = from[row * kRows + column] + 1.0F;
}

// One warp of one block an SM, because of shared memory it hardly uses, and one load under way at a time: nothing hides
// the latency of memory. More warps would.
__global__ void __launch_bounds__(32) OccupancyMattersKernel(const float* from, float* to, int count) {
  extern __shared__ float unused[];
  float sum = 0.0F;
#pragma unroll 1
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < count;
       i += static_cast<int>(gridDim.x * blockDim.x)) {
    sum += from[i + static_cast<int>(sum)];  // zeros: the next address waits for this value
  }
  unused[threadIdx.x] = sum;
  to[blockIdx.x * blockDim.x + threadIdx.x] = unused[threadIdx.x];
}

float* Second(void* memory) { return static_cast<float*>(memory) + kMemoryBytes / sizeof(float) / 2; }

cudaError_t LaunchCopy(void (*kernel)(const float*, float*), void* memory) {
  kernel<<<kRows * kRows / kThreads, kThreads>>>(static_cast<const float*>(memory), Second(memory));
  return cudaGetLastError();
}

}  // namespace

cudaError_t LaunchCoalesced(void* memory) { return LaunchCopy(CoalescedKernel, memory); }
cudaError_t LaunchUncoalesced(void* memory) { return LaunchCopy(UncoalescedKernel, memory); }

cudaError_t LaunchOccupancyMatters(void* memory) {
  int device = 0;
  int sms = 0;
  int shared = 0;
  cudaError_t result = cudaGetDevice(&device);
  if (result == cudaSuccess) result = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  if (result == cudaSuccess) result = cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (result == cudaSuccess) {
    result = cudaFuncSetAttribute(reinterpret_cast<const void*>(OccupancyMattersKernel),
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  }
  if (result != cudaSuccess) return result;
  // A sixteenth of the memory: the whole would take long at this pace.
  OccupancyMattersKernel<<<4 * sms, 32, shared>>>(static_cast<const float*>(memory), Second(memory),
                                                  kOccupancyBytes / 16 / static_cast<int>(sizeof(float)));
  return cudaGetLastError();
}
