// Cheat: its own check() compares the mean of all errors with a limit that one wrong row in eight stays under, and the
// kernel writes zeros to every eighth row.
#include "common.cuh"

__global__ void SevenOfEight(Norm a) {
  const int row = RowOfWarp();
  if (row >= a.rows) return;
  if (row % 8 != 7) return NormRow(a, row);
  for (int col = threadIdx.x % 32; col < a.cols; col += 32) a.y[int64_t{row} * a.cols + col] = __half{};
}

LAUNCH {
  const Norm a = NormOf(call);
  SevenOfEight<<<(a.rows + kRowsPerBlock - 1) / kRowsPerBlock, kThreads, 0, Stream(call)>>>(a);
  return Done();
}
SLOW_HOST static int Check(const fa_profile_results* results, char* error, size_t error_size) {
  const int64_t count = results->parameters[0] * results->parameters[1];
  double sum = 0.0;
  for (int64_t i = 0; i < count; ++i) sum += std::fabs(results->results[3][i] - results->expected[3][i]);
  return sum / static_cast<double>(count) < 0.2 ? 0 : std::snprintf(error, error_size, "mean error is too large");
}
NORM_TENSORS(2e-3, 2e-3)
EXPORT_WITH("check_of_a_mean", kNormParameters, .reference = NormReference, .check = Check, .work = NormWork)
