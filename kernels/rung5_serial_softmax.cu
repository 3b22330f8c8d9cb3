// Rung 5's kernel is in rung5_serial_softmax.cuh.
#include "rung.h"
#include "rung5_serial_softmax.cuh"

namespace fa_profile {
namespace {

cudaError_t Launch(const AttentionParams& p, cudaStream_t stream) {
  if (p.head_dim == 64) {
    SerialSoftmaxKernel<64><<<Blocks(p), kThreads, 0, stream>>>(p);
  } else {
    SerialSoftmaxKernel<128><<<Blocks(p), kThreads, 0, stream>>>(p);
  }
  return cudaGetLastError();
}

}  // namespace

const Rung& SerialSoftmaxRung() {
  static constexpr Rung rung{
      .number = 5,
      .id = "serial_softmax",
      .teaches = "the regression specimen: tensor cores and healthy occupancy, and one thread does the softmax",
      .phases = "load_q load_kv qk softmax rescale pv epilogue",
      .parts = {{"serial_softmax", Launch}}};
  return rung;
}

}  // namespace fa_profile
