// Rung 6's kernel is in rung6_wmma.cuh.
#include "rung.h"
#include "rung6_wmma.cuh"

namespace fa_profile {
namespace {

cudaError_t LaunchWmma(const AttentionParams& params, cudaStream_t stream) {
  return params.head_dim == 64 ? LaunchTile<Tile<64>>(params, stream) : LaunchTile<Tile<128>>(params, stream);
}

}  // namespace

const Rung& WmmaRung() {
  static constexpr Rung rung{.number = 6,
                             .id = "wmma",
                             .teaches =
                                 "both products on the tensor cores, everything between them through shared memory: "
                                 "its wavefronts outweigh HMMA",
                             .phases = "load_q load_kv sync qk softmax rescale pv epilogue",
                             .parts = {{"wmma", LaunchWmma}}};
  return rung;
}

}  // namespace fa_profile
