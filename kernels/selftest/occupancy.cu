// Kernels whose shared memory allows 1, 2 or 4 blocks on an SM.
#include <cstdint>
#include <string>
#include <utility>

#include "cuda_result.h"
#include "selftest.h"

namespace fa_profile {
namespace {

constexpr int kThreads = 256;
constexpr long long kCycles = 1'000'000;

// Each warp stays this long, whatever the others do: if it worked instead, the scheduler would prefer older warps, they
// would leave first, and fewer would be resident on average than were launched.
__device__ __forceinline__ void alpha(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

__global__ void __launch_bounds__(kThreads) OccupancyKernel(long long cycles) { alpha(cycles); }

// The shared memory that leaves room for exactly `blocks` blocks on an SM.
int SharedBytes(int blocks) {
  const int per_sm = DeviceAttribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  const int reserved = DeviceAttribute(cudaDevAttrReservedSharedMemoryPerBlock);
  constexpr int kGranule = 1024;  // beyond every chip's allocation unit
  return (per_sm / blocks - reserved) / kGranule * kGranule;
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
    const int grid = DeviceAttribute(cudaDevAttrMultiProcessorCount) * blocks;  // one wave
    const auto launch = [function, grid, shared](cudaStream_t stream) {
      // The three kernels in this file are one function, so the attribute is set again for each launch.
      const cudaError_t set = cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
      if (set != cudaSuccess) return set;
      OccupancyKernel<<<grid, kThreads, shared, stream>>>(kCycles);
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
