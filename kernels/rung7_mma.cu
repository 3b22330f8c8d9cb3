// Rung 7's kernel is in rung7_mma.cuh.
#include "rung.h"
#include "rung7_mma.cuh"

namespace fa_profile {
namespace {

cudaError_t LaunchMma(const AttentionParams& params, cudaStream_t stream) {
  return params.head_dim == 64 ? LaunchBest<Latency64, Throughput64>(params, stream)
                               : LaunchBest<Latency128, Throughput128>(params, stream);
}

}  // namespace

const Rung& MmaRung() {
  static constexpr Rung rung{
      .number = 7,
      .id = "mma",
      .teaches = "FlashAttention-2: scores and probabilities never leave registers; a small shape is latency-bound",
      .phases = "load_q load_kv sync qk softmax rescale pv epilogue",
      .parts = {{"mma", LaunchMma}}};
  return rung;
}

}  // namespace fa_profile
