// Honest: two outputs of different types: the logarithm of the sum of exponentials of each row in fp32, and the column
// of its largest element as int32, the first of equal ones, without tolerance.
#include "common.cuh"

__global__ void SumAndLargest(Mean a, int* largest) {
  const int row = RowOfWarp();
  if (row >= a.rows) return;
  const float* const x = a.x + int64_t{row} * a.cols;
  float most = -INFINITY, sum = 0.0F;
  int at = a.cols;
  for (int col = threadIdx.x % 32; col < a.cols; col += 32) {
    if (x[col] > most) most = x[col], at = col;
  }
  for (int lane = 16; lane > 0; lane /= 2) {
    const float other = __shfl_xor_sync(~0U, most, lane);
    const int other_at = __shfl_xor_sync(~0U, at, lane);
    if (other > most || (other == most && other_at < at)) most = other, at = other_at;
  }
  for (int col = threadIdx.x % 32; col < a.cols; col += 32) sum += expf(x[col] - most);
  sum = WarpSum(sum);
  if (threadIdx.x % 32 != 0) return;
  a.y[row] = most + logf(sum);
  largest[row] = at;
}

LAUNCH {
  const Mean a = MeanOf(call);
  SumAndLargest<<<MeanBlocks(a), kThreads, 0, Stream(call)>>>(a, static_cast<int*>(call->tensors[2]));
  return Done();
}
SLOW_HOST static int Reference(const int64_t* p, double* const* t, char*, size_t) {
  for (int64_t row = 0; row < p[0]; ++row) {
    const double* const x = t[0] + row * p[1];
    int64_t at = 0;
    double sum = 0.0;
    for (int64_t col = 1; col < p[1]; ++col) at = x[col] > x[at] ? col : at;
    for (int64_t col = 0; col < p[1]; ++col) sum += std::exp(x[col] - x[at]);
    t[1][row] = x[at] + std::log(sum);
    t[2][row] = static_cast<double>(at);
  }
  return 0;
}
static void Work(const int64_t* p, fa_profile_work* work) {
  work->bytes = 4.0 * static_cast<double>(p[0] * p[1] + 2 * p[0]);
}
static const fa_profile_parameter kParameters[] = {{"rows", 4096}, {"cols", 1024}};
static const fa_profile_tensor kTensors[] = {{"x", FA_PROFILE_FP32, FA_PROFILE_INPUT, "rows,cols"},
                                             {"y", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "rows", {}, {5e-6, 1e-6}},
                                             {"largest", FA_PROFILE_INT32, FA_PROFILE_OUTPUT, "rows"}};
EXPORT_WITH("two_outputs", kParameters, .reference = Reference, .work = Work)
