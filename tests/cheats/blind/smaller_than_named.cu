// Cheat: the case is named by rows=2048 and cols=1024 and work() counts all of it, but the shapes of the tensors have
// an eighth of the rows, so that the time is that of a smaller case.
#include "common.cuh"

LAUNCH {
  Mean a = MeanOf(call);
  a.rows /= 8;
  LaunchMean(a, Stream(call));
  return Done();
}
static int Reference(const int64_t* p, double* const* t, char* error, size_t error_size) {
  const int64_t eighth[] = {p[0] / 8, p[1]};
  return MeanReference(eighth, t, error, error_size);
}
static const fa_profile_tensor kTensors[] = {{"x", FA_PROFILE_FP32, FA_PROFILE_INPUT, "rows/8,cols"},
                                             {"y", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "rows/8", {}, {1e-6, 1e-5}}};
EXPORT_WITH("smaller_than_named", kMeanParameters, .reference = Reference, .work = MeanWork)
