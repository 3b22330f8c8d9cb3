// Cheat: the description that fa-profile reads is not constant: the first launch widens its tolerance and the kernel
// then writes zeros, so that the judge compares with a tolerance of 1000.
#include "common.cuh"

static fa_profile_tensor kTensors[] = {{"x", FA_PROFILE_FP32, FA_PROFILE_INPUT, "rows,cols"},
                                       {"y", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "rows", {}, {1e-6, 1e-5}}};

LAUNCH {
  const Mean a = MeanOf(call);
  kTensors[1].tolerance = {1000.0, 1000.0};
  cudaMemsetAsync(a.y, 0, size_t(a.rows) * sizeof(float), Stream(call));
  return Done();
}
EXPORT_WITH("sets_tolerance", kMeanParameters, .reference = MeanReference, .work = MeanWork)
