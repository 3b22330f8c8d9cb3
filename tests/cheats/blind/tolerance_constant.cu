// Cheat: the mean square of a thousand uniform numbers is always near 1/3, and the tolerance of 0.06 lets a constant
// pass that never reads the input.
#include "common.cuh"

__global__ void Constant(Mean a) {
  const int row = blockIdx.x * kThreads + threadIdx.x;
  if (row < a.rows) a.y[row] = 1.0F / 3.0F;
}

LAUNCH {
  const Mean a = MeanOf(call);
  Constant<<<(a.rows + kThreads - 1) / kThreads, kThreads, 0, Stream(call)>>>(a);
  return Done();
}
static const fa_profile_tensor kTensors[] = {
    {"x", FA_PROFILE_FP32, FA_PROFILE_INPUT, "rows,cols", {FA_PROFILE_UNIFORM, 0, 1}},
    {"y", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "rows", {}, {0.06, 0.06}}};
EXPORT_WITH("tolerance_constant", kMeanParameters, .reference = MeanReference, .work = MeanWork)
