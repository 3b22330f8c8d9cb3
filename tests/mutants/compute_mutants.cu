#include <cuda_fp16.h>

#include <cstdint>

#include "mutants.h"

namespace {

// Two blocks: whatever one does to this kernel, 99 % of a large GPU looks on.
__global__ void __launch_bounds__(128) TinyGridKernel(float* to, float x, int rounds) {
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) x = x * 0.5F + 0.25F;
  to[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

// Eight independent chains a thread and every warp an SM can hold: 16 results a cycle and SM, and no more.
__global__ void __launch_bounds__(1024) MufuBoundKernel(float* to, float x, int rounds) {
  float y[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) y[j] = x + static_cast<float>(j);
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
#pragma unroll
    for (float& z : y) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(z));
  }
  float sum = 0.0F;
#pragma unroll
  for (const float z : y) sum += z;
  to[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// One block of 8 warps an SM, kept alone by its shared memory, with eight independent products a warp under way: the
// tensor pipe is busy, and more warps would only queue for it.
__global__ void __launch_bounds__(256) OccupancyIsEnoughKernel(float* to, std::uint32_t bits, int rounds) {
  extern __shared__ float unused[];
  float c[8][4] = {};
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
#pragma unroll
    for (float(&tile)[4] : c) {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, "
          "{%0, %1, %2, %3};"
          : "+f"(tile[0]), "+f"(tile[1]), "+f"(tile[2]), "+f"(tile[3])
          : "r"(bits));
    }
  }
  float sum = 0.0F;
#pragma unroll
  for (const auto& tile : c) sum += tile[0] + tile[1] + tile[2] + tile[3];
  unused[threadIdx.x] = sum;
  to[blockIdx.x * blockDim.x + threadIdx.x] = unused[threadIdx.x];
}

cudaError_t Sms(int& sms, int& shared) {
  int device = 0;
  cudaError_t result = cudaGetDevice(&device);
  if (result == cudaSuccess) result = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  if (result == cudaSuccess) result = cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  return result;
}

}  // namespace

cudaError_t LaunchTinyGrid(void* memory) {
  TinyGridKernel<<<2, 128>>>(static_cast<float*>(memory), 1.0F, 20000);
  return cudaGetLastError();
}

cudaError_t LaunchMufuBound(void* memory) {
  int sms = 0;
  int shared = 0;
  const cudaError_t result = Sms(sms, shared);
  if (result != cudaSuccess) return result;
  MufuBoundKernel<<<2 * sms, 1024>>>(static_cast<float*>(memory), 0.5F, 500);
  return cudaGetLastError();
}

cudaError_t LaunchOccupancyIsEnough(void* memory) {
  int sms = 0;
  int shared = 0;
  cudaError_t result = Sms(sms, shared);
  if (result == cudaSuccess) {
    result = cudaFuncSetAttribute(reinterpret_cast<const void*>(OccupancyIsEnoughKernel),
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  }
  if (result != cudaSuccess) return result;
  OccupancyIsEnoughKernel<<<sms, 256, shared>>>(static_cast<float*>(memory), 0U, 2000);
  return cudaGetLastError();
}
