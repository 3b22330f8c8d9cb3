// Honest: pads and joins two matrices by two strided copies and a strided memset: a call without any kernel.
#include "common.cuh"

LAUNCH {
  const int64_t rows = call->parameters[0], cols = call->parameters[1];
  const size_t width = size_t(cols) * sizeof(float), pitch = 2 * width + 64 * sizeof(float);
  auto* const y = static_cast<char*>(call->tensors[2]);
  cudaMemcpy2DAsync(y, pitch, call->tensors[0], width, width, rows, cudaMemcpyDeviceToDevice, Stream(call));
  cudaMemset2DAsync(y + width, pitch, 0, 64 * sizeof(float), rows, Stream(call));
  cudaMemcpy2DAsync(y + width + 64 * sizeof(float), pitch, call->tensors[1], width, width, rows,
                    cudaMemcpyDeviceToDevice, Stream(call));
  return Done();
}
SLOW_HOST static int Reference(const int64_t* p, double* const* t, char*, size_t) {
  const int64_t pitch = 2 * p[1] + 64;
  for (int64_t row = 0; row < p[0]; ++row) {
    for (int64_t col = 0; col < pitch; ++col) {
      const bool left = col < p[1], right = col >= p[1] + 64;
      t[2][row * pitch + col] = left ? t[0][row * p[1] + col] : right ? t[1][row * p[1] + col - p[1] - 64] : 0.0;
    }
  }
  return 0;
}
static const fa_profile_tensor kTensors[] = {{"a", FA_PROFILE_FP32, FA_PROFILE_INPUT, "rows,cols"},
                                             {"b", FA_PROFILE_FP32, FA_PROFILE_INPUT, "rows,cols"},
                                             {"y", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "rows,2*cols+64"}};
EXPORT_WITH("copies_only", kMeanParameters, .reference = Reference)
