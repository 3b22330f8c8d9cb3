// The gate's frozen kernel: it is timed with every build, and if it moves, the machine did and not the code. So it is
// never changed; a change would make all earlier runs incomparable.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cuda_result.h"
#include "fa_profile/kernels.h"
#include "selftest/selftest.h"

namespace fa_profile {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerSm = 2;
constexpr int kRounds = 64;                // about 20 us on an H200
constexpr std::uint32_t kWords = 1 << 20;  // 4 MiB: fits in the L2 of every GPU that the ladder runs on

// A bit of everything that the rungs wait for: L2, shared memory, barriers, FMA.
__global__ void __launch_bounds__(kThreads) GateReference(float* memory) {
  __shared__ float tile[kThreads];
  std::uint32_t at = (blockIdx.x * kThreads + threadIdx.x) % kWords;
  float sum = 0.0F;
#pragma unroll 1
  for (int round = 0; round < kRounds; ++round) {
    tile[threadIdx.x] = memory[at];
    __syncthreads();
    const float value = tile[(threadIdx.x + 33 * static_cast<unsigned>(round)) % kThreads];
#pragma unroll
    for (int i = 0; i < 32; ++i) sum = fmaf(sum, 0.999F, value);
    __syncthreads();
    at = (at + 9973 * kThreads) % kWords;
  }
  if (sum != 0.0F) memory[blockIdx.x * kThreads + threadIdx.x] = 0.0F;  // the memory is zeroed: never taken
}

}  // namespace

std::unique_ptr<Workload> MakeGateReference() {
  std::vector<DeviceBuffer> buffers;
  buffers.push_back(ZeroedBuffer(kWords * sizeof(float)));
  float* const memory = buffers.back().as<float>();
  const int grid = DeviceAttribute(cudaDevAttrMultiProcessorCount) * kBlocksPerSm;
  return std::make_unique<SelftestWorkload>("gate_reference", std::move(buffers), [memory, grid](cudaStream_t stream) {
    GateReference<<<grid, kThreads, 0, stream>>>(memory);
    return cudaGetLastError();
  });
}

}  // namespace fa_profile
