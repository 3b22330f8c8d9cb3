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
  static const Rung rung{
      7,
      "mma",
      "FlashAttention-2: scores and probabilities never leave registers; a small shape is latency-bound",
      {"load_q", "load_kv", "sync", "qk", "softmax", "rescale", "pv", "epilogue"},
      {{"mma", LaunchMma}},
      WhyNotCommon,
      [](const AttentionShape&) { return std::size_t{0}; }};
  return rung;
}

}  // namespace fa_profile
