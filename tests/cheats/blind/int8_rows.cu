// Honest: quantises rows to int8 by their largest element; a value near a half may round either way, so the tolerance
// is 1.
#include "common.cuh"

__global__ void Quantise(const float* x, signed char* y, int rows, int cols) {
  const int row = RowOfWarp();
  if (row >= rows) return;
  x += int64_t{row} * cols;
  float largest = 1e-20F;
  for (int col = threadIdx.x % 32; col < cols; col += 32) largest = fmaxf(largest, fabsf(x[col]));
  for (int lane = 16; lane > 0; lane /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0U, largest, lane));
  for (int col = threadIdx.x % 32; col < cols; col += 32) {
    y[int64_t{row} * cols + col] = static_cast<signed char>(__float2int_rn(x[col] * (127.0F / largest)));
  }
}

LAUNCH {
  const Mean a = MeanOf(call);
  Quantise<<<MeanBlocks(a), kThreads, 0, Stream(call)>>>(a.x, static_cast<signed char*>(call->tensors[1]), a.rows,
                                                         a.cols);
  return Done();
}
SLOW_HOST static int Reference(const int64_t* p, double* const* t, char*, size_t) {
  for (int64_t row = 0; row < p[0]; ++row) {
    const double* x = t[0] + row * p[1];
    double largest = 1e-20;
    for (int64_t col = 0; col < p[1]; ++col) largest = std::fmax(largest, std::fabs(x[col]));
    for (int64_t col = 0; col < p[1]; ++col) t[1][row * p[1] + col] = std::nearbyint(x[col] * 127.0 / largest);
  }
  return 0;
}
static const fa_profile_tensor kTensors[] = {{"x", FA_PROFILE_FP32, FA_PROFILE_INPUT, "rows,cols"},
                                             {"y", FA_PROFILE_INT8, FA_PROFILE_OUTPUT, "rows,cols", {}, {1, 0}}};
EXPORT_WITH("int8_rows", kMeanParameters, .reference = Reference)
