// Kernels of which shared memory lets 1, 2 or 4 blocks onto an SM.
#include <cstdint>
#include <string>
#include <utility>

#include "cuda_result.h"
#include "selftest.h"

namespace fa_profile {
namespace {

constexpr int kThreads = 256;
constexpr int kRounds = 20000;

__device__ __forceinline__ float alpha(float x, float y, int rounds) {
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(y));
  }
  return x;
}

__global__ void __launch_bounds__(kThreads) OccupancyKernel(float* sink, float x, int rounds) {
  x = alpha(x, x, rounds);
  if (x == 3.0F) *sink = x;  // 0.5 runs towards 1
}

// As much shared memory as leaves room for exactly `blocks` blocks on an SM, and an eighth to spare: where blocks fill an
// SM to the last byte, some SMs of an H200 took one less.
int SharedBytes(int blocks) {
  const int per_sm = DeviceAttribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  const int reserved = DeviceAttribute(cudaDevAttrReservedSharedMemoryPerBlock);
  constexpr int kGranule = 1024;  // beyond every chip's allocation unit
  return (per_sm / blocks * 7 / 8 - reserved) / kGranule * kGranule;
}

SelftestKernel Occupancy(int blocks) {
  const std::string id = "occupancy_" + std::to_string(blocks);
  const auto make = [id, blocks] {
    const auto function = reinterpret_cast<const void*>(OccupancyKernel);
    const int shared = SharedBytes(blocks);
    CheckCudaResult(
        cudaFuncSetAttribute(function, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared),
        "cudaFuncSetAttribute");
    std::vector<DeviceBuffer> buffers;
    buffers.push_back(ZeroedBuffer(4));
    auto* const sink = buffers.front().as<float>();
    const int grid = DeviceAttribute(cudaDevAttrMultiProcessorCount) * blocks;  // one wave
    const auto launch = [function, sink, grid, shared](cudaStream_t stream) {
      // The three kernels of this file are one function, so the attribute is set anew for each launch.
      const cudaError_t set = cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
      if (set != cudaSuccess) return set;
      OccupancyKernel<<<grid, kThreads, shared, stream>>>(sink, 0.5F, kRounds);
      return cudaGetLastError();
    };
    constexpr int kWarpsPerBlock = kThreads / 32;
    return SelftestRun{std::make_unique<SelftestWorkload>(id, std::move(buffers), launch),
                       {{TruthSource::kLaunch,
                         "blocks_per_sm",
                         {},
                         {},
                         static_cast<double>(blocks),
                         0.0,
                         "shared memory allows no more"},
                        Counter("sm__warps_active.avg.per_cycle_active", kWarpsPerBlock * blocks, 0.03,
                                "one wave of equal blocks; starting and ending take a few cycles")}};
  };
  return {id, std::to_string(blocks) + " blocks of 256 threads per SM, limited by shared memory", make};
}

}  // namespace

std::vector<SelftestKernel> OccupancyKernels() {
  std::vector<SelftestKernel> kernels;
  for (const int blocks : {1, 2, 4}) kernels.push_back(Occupancy(blocks));
  return kernels;
}

}  // namespace fa_profile
