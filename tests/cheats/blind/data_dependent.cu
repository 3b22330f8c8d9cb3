// Honest: rows have lengths that are drawn afresh, and a warp reads only the columns within its row's length: its time
// depends on the data, its result is right for all.
#include "common.cuh"

__global__ void Ragged(Mean a, const int* length) {
  const int row = RowOfWarp();
  if (row >= a.rows) return;
  float sum = 0.0F;
  for (int col = threadIdx.x % 32; col < length[row]; col += 32) sum += a.x[int64_t{row} * a.cols + col];
  sum = WarpSum(sum);
  if (threadIdx.x % 32 == 0) a.y[row] = sum;
}

LAUNCH {
  Mean a = MeanOf(call);
  a.y = static_cast<float*>(call->tensors[2]);
  Ragged<<<MeanBlocks(a), kThreads, 0, Stream(call)>>>(a, static_cast<const int*>(call->tensors[1]));
  return Done();
}
static void DrawLengths(const int64_t* p, uint64_t seed, double* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    values[i] = static_cast<double>(static_cast<int64_t>(seed >> 33) % (p[1] + 1));
  }
}
SLOW_HOST static int Reference(const int64_t* p, double* const* t, char*, size_t) {
  for (int64_t row = 0; row < p[0]; ++row) {
    t[2][row] = 0.0;
    for (int64_t col = 0; col < static_cast<int64_t>(t[1][row]); ++col) t[2][row] += t[0][row * p[1] + col];
  }
  return 0;
}
static const fa_profile_tensor kTensors[] = {
    {"x", FA_PROFILE_FP32, FA_PROFILE_INPUT, "rows,cols"},
    {"length", FA_PROFILE_INT32, FA_PROFILE_INPUT, "rows", {FA_PROFILE_FUNCTION, 0, 0, DrawLengths}},
    {"y", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "rows", {}, {1e-4, 1e-5}}};
EXPORT_WITH("data_dependent", kMeanParameters, .reference = Reference)
