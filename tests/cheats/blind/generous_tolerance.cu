// Honest: the product is exact to fp32, though its author, who also runs it in lower precisions, allows an error of
// 0.05.
#include "common.cuh"

LAUNCH {
  LaunchGemm(GemmOf(call), Stream(call));
  return Done();
}
GEMM_TENSORS(5e-2, 1e-3)
EXPORT_WITH("generous_tolerance", kGemmParameters, .supports = GemmTakes, .reference = GemmReference, .work = GemmWork)
