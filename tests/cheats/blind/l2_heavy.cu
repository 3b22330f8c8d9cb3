// Honest: means of 16 random rows of a table of 21 MB: each of its rows is read about three times, from L2 by most.
#include "common.cuh"

constexpr int kRows = 40960, kPicks = 16;
__global__ void MeanOfPicks(const __half2* table, const int* index, __half2* y, int count, int pairs) {
  const int row = RowOfWarp();
  if (row >= count) return;
  const int pick = threadIdx.x % 32 < kPicks ? index[row * kPicks + threadIdx.x % 32] : 0;
  for (int col = threadIdx.x % 32; col < pairs; col += 32) {
    float2 sum = {0.0F, 0.0F};
#pragma unroll
    for (int i = 0; i < kPicks; ++i) {
      const float2 v = __half22float2(__ldcg(table + int64_t{__shfl_sync(~0U, pick, i)} * pairs + col));
      sum = {sum.x + v.x, sum.y + v.y};
    }
    y[int64_t{row} * pairs + col] = __floats2half2_rn(sum.x / kPicks, sum.y / kPicks);
  }
}

LAUNCH {
  const int count = int(call->parameters[0]);
  MeanOfPicks<<<(count + kRowsPerBlock - 1) / kRowsPerBlock, kThreads, 0, Stream(call)>>>(
      static_cast<const __half2*>(call->tensors[0]), static_cast<const int*>(call->tensors[1]),
      static_cast<__half2*>(call->tensors[2]), count, int(call->parameters[1] / 2));
  return Done();
}
static int Takes(const fa_profile_call* call, char* error, size_t error_size) {
  return call->parameters[1] % 64 == 0 ? 0 : std::snprintf(error, error_size, "dim must be a multiple of 64");
}
SLOW_HOST static int Reference(const int64_t* p, double* const* t, char*, size_t) {
  for (int64_t row = 0; row < p[0]; ++row) {
    double* const y = t[2] + row * p[1];
    for (int64_t col = 0; col < p[1]; ++col) y[col] = 0.0;
    for (int i = 0; i < kPicks; ++i) {
      const double* const from = t[0] + static_cast<int64_t>(t[1][row * kPicks + i]) * p[1];
      for (int64_t col = 0; col < p[1]; ++col) y[col] += from[col] / kPicks;
    }
  }
  return 0;
}
static void Work(const int64_t* p, fa_profile_work* work) {
  work->flops = static_cast<double>(kPicks * p[0] * p[1]);
  work->bytes = 2.0 * (kPicks + 1) * static_cast<double>(p[0] * p[1]) + 4.0 * kPicks * static_cast<double>(p[0]);
}
static const fa_profile_parameter kParameters[] = {{"count", 8192}, {"dim", 256}};
static const fa_profile_tensor kTensors[] = {
    {"table", FA_PROFILE_FP16, FA_PROFILE_INPUT, "40960,dim"},
    {"index", FA_PROFILE_INT32, FA_PROFILE_INPUT, "count,16", {FA_PROFILE_INTEGERS, 0, kRows - 1}},
    {"y", FA_PROFILE_FP16, FA_PROFILE_OUTPUT, "count,dim", {}, {5e-4, 1e-3}}};
EXPORT_WITH("l2_heavy", kParameters, .supports = Takes, .reference = Reference, .work = Work)
