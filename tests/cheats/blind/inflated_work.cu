// Cheat: work() counts sixteen times the operations and bytes of the product, so that an honest time becomes a rate
// beyond the GPU's peak.
#include "common.cuh"

LAUNCH {
  LaunchGemm(GemmOf(call), Stream(call));
  return Done();
}
static void Inflated(const int64_t* p, fa_profile_work* work) {
  GemmWork(p, work);
  work->flops *= 16.0;
  work->bytes *= 16.0;
}
GEMM_TENSORS(1e-4, 1e-5)
EXPORT_WITH("inflated_work", kGemmParameters, .supports = GemmTakes, .reference = GemmReference, .work = Inflated)
