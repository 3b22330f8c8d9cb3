// Honest: adds rows of whole numbers in float64 and writes the exact sum as int32: no tolerance at all.
#include "common.cuh"

__global__ void SumRows(const float* x, int* y, int rows, int cols) {
  const int row = RowOfWarp();
  if (row >= rows) return;
  double sum = 0.0;
  for (int col = threadIdx.x % 32; col < cols; col += 32) sum += double(x[int64_t{row} * cols + col]);
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(~0U, sum, lane);
  if (threadIdx.x % 32 == 0) y[row] = int(__double2ll_rn(sum));
}

LAUNCH {
  const Mean a = MeanOf(call);
  SumRows<<<MeanBlocks(a), kThreads, 0, Stream(call)>>>(a.x, static_cast<int*>(call->tensors[1]), a.rows, a.cols);
  return Done();
}
SLOW_HOST static int Reference(const int64_t* p, double* const* t, char*, size_t) {
  for (int64_t row = 0; row < p[0]; ++row) {
    t[1][row] = 0.0;
    for (int64_t col = 0; col < p[1]; ++col) t[1][row] += t[0][row * p[1] + col];
  }
  return 0;
}
static const fa_profile_tensor kTensors[] = {
    {"x", FA_PROFILE_FP32, FA_PROFILE_INPUT, "rows,cols", {FA_PROFILE_INTEGERS, -100000, 100000}},
    {"y", FA_PROFILE_INT32, FA_PROFILE_OUTPUT, "rows"}};
EXPORT_WITH("count_in_double", kMeanParameters, .reference = Reference)
