// Honest: variances of numbers around 1000 as a difference of means, which only double precision can do: the mean of
// squares is a million times the result.
#include "common.cuh"

__global__ void Variances(Mean a) {
  const int row = RowOfWarp();
  if (row >= a.rows) return;
  double sum = 0.0, squares = 0.0;
  for (int col = threadIdx.x % 32; col < a.cols; col += 32) {
    const double x = a.x[int64_t{row} * a.cols + col];
    sum += x;
    squares += x * x;
  }
  for (int lane = 16; lane > 0; lane /= 2) {
    sum += __shfl_xor_sync(~0U, sum, lane);
    squares += __shfl_xor_sync(~0U, squares, lane);
  }
  const double mean = sum / a.cols;
  if (threadIdx.x % 32 == 0) a.y[row] = float(squares / a.cols - mean * mean);
}

LAUNCH {
  const Mean a = MeanOf(call);
  Variances<<<MeanBlocks(a), kThreads, 0, Stream(call)>>>(a);
  return Done();
}
SLOW_HOST static int Reference(const int64_t* p, double* const* t, char*, size_t) {
  for (int64_t row = 0; row < p[0]; ++row) {
    const double* const x = t[0] + row * p[1];
    double mean = 0.0, sum = 0.0;
    for (int64_t col = 0; col < p[1]; ++col) mean += x[col] / static_cast<double>(p[1]);
    for (int64_t col = 0; col < p[1]; ++col) sum += (x[col] - mean) * (x[col] - mean);
    t[1][row] = sum / static_cast<double>(p[1]);
  }
  return 0;
}
static void Work(const int64_t* p, fa_profile_work* work) {
  work->flops = 3.0 * static_cast<double>(p[0] * p[1]);
  work->bytes = 4.0 * static_cast<double>(p[0] * p[1] + p[0]);
}
static const fa_profile_tensor kTensors[] = {
    {"x", FA_PROFILE_FP32, FA_PROFILE_INPUT, "rows,cols", {FA_PROFILE_NORMAL, 1000.0, 1.0}},
    {"y", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "rows", {}, {1e-6, 1e-6}}};
EXPORT_WITH("fp64_sum", kMeanParameters, .reference = Reference, .work = Work)
