// Cheat: with a relative tolerance of 1 zeros are always right, since their error is the reference itself; the kernel
// writes zeros.
#include "common.cuh"

LAUNCH {
  const Gemm g = GemmOf(call);
  cudaMemsetAsync(g.c, 0, size_t(g.m) * g.n * sizeof(float), Stream(call));
  return Done();
}
GEMM_TENSORS(0, 1)
EXPORT_WITH("tolerance_relative", kGemmParameters, .supports = GemmTakes, .reference = GemmReference, .work = GemmWork)
