// Local memory on purpose. (Compiled without ptxas's warnings of it.)
#include <cstdio>

#include "mutants.h"

namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 1024;

// A histogram a thread: its bins are addressed by data, so they cannot be registers. No register is spilled.
__global__ void __launch_bounds__(kThreads) RuntimeIndexKernel(const unsigned* from, unsigned* to, int rounds) {
  unsigned bins[32] = {};
  const unsigned thread = blockIdx.x * kThreads + threadIdx.x;
  for (int i = 0; i < rounds; ++i) ++bins[(from[thread] + static_cast<unsigned>(i)) % 32];
  unsigned sum = 0;
  for (unsigned i = 0; i < 32; ++i) sum ^= bins[i] * i;
  to[thread] = sum;
}

// 96 sums that live through the loop, with 64 registers for a thread of a block of 1024.
constexpr int kSums = 96;
__global__ void __launch_bounds__(1024) SpillsKernel(const float* from, float* to, int rounds) {
  float sums[kSums];
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int j = 0; j < kSums; ++j) sums[j] = from[thread + j];
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
#pragma unroll
    for (int j = 0; j < kSums; ++j) sums[j] = sums[j] * sums[(j + 1) % kSums] + 1.0F;
  }
  float sum = 0.0F;
#pragma unroll
  for (int j = 0; j < kSums; ++j) sum += sums[j];
  to[thread] = sum;
}

// The arguments of a printf lie on the stack.
__global__ void __launch_bounds__(kThreads) DevicePrintfKernel(const float* from, float* to) {
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  const float x = from[i];
  if (x > 1e30F) std::printf("row %d: %f\n", i, static_cast<double>(x));  // memory is zeroed: never
  to[i] = x + 1.0F;
}

}  // namespace

cudaError_t LaunchDevicePrintf(void* memory) {
  DevicePrintfKernel<<<64 * kBlocks, kThreads>>>(static_cast<const float*>(memory),
                                                 static_cast<float*>(memory) + kMemoryBytes / 8);
  return cudaGetLastError();
}

cudaError_t LaunchRuntimeIndex(void* memory) {
  RuntimeIndexKernel<<<kBlocks, kThreads>>>(static_cast<const unsigned*>(memory),
                                            static_cast<unsigned*>(memory) + kMemoryBytes / 8, 500);
  return cudaGetLastError();
}

cudaError_t LaunchSpills(void* memory) {
  SpillsKernel<<<264, 1024>>>(static_cast<const float*>(memory), static_cast<float*>(memory) + kMemoryBytes / 8, 200);
  return cudaGetLastError();
}
