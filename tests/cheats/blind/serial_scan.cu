// Honest: a recurrence along each row, a warp a row: long, and on a few SMs alone.
#include "common.cuh"

__global__ void ScanRows(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x, lane = threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0F;
  for (int col = lane; col < cols; col += 32) {
    const float mine = x[row * cols + col];
    float result = 0.0F;
    for (int other = 0; other < 32; ++other) {
      sum = 0.5F * sum + __shfl_sync(~0U, mine, other);
      if (other == lane) result = sum;
    }
    y[row * cols + col] = result;
  }
}

LAUNCH {
  const int rows = static_cast<int>(call->parameters[0]), cols = static_cast<int>(call->parameters[1]);
  ScanRows<<<rows, 32, 0, Stream(call)>>>(static_cast<const float*>(call->tensors[0]),
                                          static_cast<float*>(call->tensors[1]), rows, cols);
  return Done();
}

SLOW_HOST static int Reference(const int64_t* p, double* const* t, char*, size_t) {
  for (int64_t row = 0; row < p[0]; ++row) {
    double sum = 0.0;
    for (int64_t i = row * p[1]; i < (row + 1) * p[1]; ++i) t[1][i] = sum = 0.5 * sum + t[0][i];
  }
  return 0;
}
static const fa_profile_parameter kParameters[] = {{"rows", 16}, {"cols", 16384}};
static const fa_profile_tensor kTensors[] = {{"x", FA_PROFILE_FP32, FA_PROFILE_INPUT, "rows,cols"},
                                             {"y", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "rows,cols", {}, {1e-5, 1e-5}}};
EXPORT_WITH("serial_scan", kParameters, .reference = Reference)
