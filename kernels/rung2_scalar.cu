// Rung 2's kernel is in rung2_scalar.cuh.
#include "rung.h"
#include "rung2_scalar.cuh"

namespace fa_profile {
namespace {

template <int kHeadDim>
cudaError_t LaunchHeadDim(const AttentionParams& p, cudaStream_t stream) {
  ScalarKernel<kHeadDim><<<Blocks<kHeadDim>(p), kThreads, 0, stream>>>(p);
  return cudaGetLastError();
}

cudaError_t Launch(const AttentionParams& p, cudaStream_t stream) {
  return p.head_dim == 64 ? LaunchHeadDim<64>(p, stream) : LaunchHeadDim<128>(p, stream);
}

}  // namespace

const Rung& ScalarRung() {
  static constexpr Rung rung{.number = 2,
                             .id = "scalar",
                             .teaches = "one warp per SM and no barrier: the latency of every load and FMA is in sight",
                             .phases = "load_q load_kv qk softmax rescale pv epilogue",
                             .parts = {{"scalar", Launch}}};
  return rung;
}

}  // namespace fa_profile
