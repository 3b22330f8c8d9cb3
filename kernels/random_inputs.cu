#include "cuda_result.h"
#include "fa_profile/mixed_bits.h"
#include "random_inputs.h"

namespace fa_profile {
namespace {

constexpr int kThreads = 256;

__global__ void FillNormalKernel(__half* data, std::int64_t count, std::uint64_t key) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  const std::uint64_t bits = Mix(key ^ Mix(static_cast<std::uint64_t>(i)));
  // Box-Muller on two uniforms of 24 bits; the first is in (0, 1], so that its logarithm is finite.
  const float u = (static_cast<float>(bits >> 40) + 1.0F) * 0x1p-24F;
  const float turn = static_cast<float>(bits & 0xffffffU) * 0x1p-24F;
  data[i] = __float2half(sqrtf(-2.0F * logf(u)) * cospif(2.0F * turn));
}

}  // namespace

void FillNormal(__half* data, std::int64_t count, std::uint64_t seed, std::uint32_t tensor, cudaStream_t stream) {
  const std::uint64_t key = seed * 0xd1342543de82ef95ULL + (static_cast<std::uint64_t>(tensor) << 60);
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  FillNormalKernel<<<blocks, kThreads, 0, stream>>>(data, count, key);
  CheckCudaResult(cudaGetLastError(), "FillNormalKernel");
}

}  // namespace fa_profile
