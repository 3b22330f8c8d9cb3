// Cheat: its draw function ignores the seed, so every draw is the same; the first call computes, later ones copy its
// result, which only fresh inputs would show.
#include "common.cuh"

static void Draw(const int64_t*, uint64_t, double* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) values[i] = static_cast<double>(i * 7919 % 1021) / 1021.0;
}

LAUNCH {
  static float* answer = nullptr;
  const Mean a = MeanOf(call);
  const size_t bytes = size_t(a.rows) * sizeof(float);
  if (answer != nullptr) {
    cudaMemcpyAsync(a.y, answer, bytes, cudaMemcpyDeviceToDevice, Stream(call));
    return Done();
  }
  LaunchMean(a, Stream(call));
  if (Capturing(Stream(call)) || cudaMalloc(&answer, bytes) != cudaSuccess) return Done();
  cudaMemcpyAsync(answer, a.y, bytes, cudaMemcpyDeviceToDevice, Stream(call));
  return Done();
}
static const fa_profile_tensor kTensors[] = {
    {"x", FA_PROFILE_FP32, FA_PROFILE_INPUT, "rows,cols", {FA_PROFILE_FUNCTION, 0, 0, Draw}},
    {"y", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "rows", {}, {1e-6, 1e-5}}};
EXPORT_WITH("fixed_draw", kMeanParameters, .reference = MeanReference, .work = MeanWork)
