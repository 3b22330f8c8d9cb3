// Honest: adds numbers to 256 sums with atomics; low sums get many more than high ones, up to a 16th of all. The order,
// and with it the last bits, differ from call to call, within a tolerance for fp32 addition in any order.
#include "common.cuh"

constexpr int kSums = 256;  // index^2 / 4096, of indices below 1024
__global__ void Add(const float* x, const int* index, float* sums, int count) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) atomicAdd(sums + (index[i] * index[i] >> 12), x[i]);
}

LAUNCH {
  const int count = int(call->parameters[0]);
  auto* const sums = static_cast<float*>(call->tensors[2]);
  cudaMemsetAsync(sums, 0, sizeof(float) * kSums, Stream(call));
  Add<<<(count + kThreads - 1) / kThreads, kThreads, 0, Stream(call)>>>(
      static_cast<const float*>(call->tensors[0]), static_cast<const int*>(call->tensors[1]), sums, count);
  return Done();
}
SLOW_HOST static int Reference(const int64_t* p, double* const* t, char*, size_t) {
  for (int i = 0; i < kSums; ++i) t[2][i] = 0.0;
  for (int64_t i = 0; i < p[0]; ++i) {
    const auto index = static_cast<int64_t>(t[1][i]);
    t[2][index * index >> 12] += t[0][i];
  }
  return 0;
}
static void Work(const int64_t* p, fa_profile_work* work) {
  work->flops = static_cast<double>(p[0]);
  work->bytes = 8.0 * static_cast<double>(p[0]) + 4.0 * kSums;
}
static const fa_profile_parameter kParameters[] = {{"count", 1 << 18, 1, 1 << 22}};
static const fa_profile_tensor kTensors[] = {
    {"x", FA_PROFILE_FP32, FA_PROFILE_INPUT, "count"},
    {"index", FA_PROFILE_INT32, FA_PROFILE_INPUT, "count", {FA_PROFILE_INTEGERS, 0, 1023}},
    {"sums", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "256", {}, {5e-3, 1e-5}}};
EXPORT_WITH("uneven_atomic", kParameters, .reference = Reference, .work = Work)
