// Honest: weights of int8 with a scale of fp32 for each column, activations of fp16, sums in fp32, results of fp16.
#include "common.cuh"

__global__ void Product(const __half2* x, const char2* weight, const float* scale, __half* y, int m, int n, int pairs) {
  const int at = RowOfWarp(), row = at / n, col = at % n;
  if (row >= m) return;
  float sum = 0.0F;
  for (int i = threadIdx.x % 32; i < pairs; i += 32) {
    const float2 v = __half22float2(x[int64_t{row} * pairs + i]);
    const char2 w = weight[int64_t{col} * pairs + i];
    sum += v.x * float(w.x) + v.y * float(w.y);
  }
  sum = WarpSum(sum);
  if (threadIdx.x % 32 == 0) y[at] = __float2half(sum * scale[col]);
}

LAUNCH {
  const int m = int(call->parameters[0]), n = int(call->parameters[1]);
  Product<<<(m * n + kRowsPerBlock - 1) / kRowsPerBlock, kThreads, 0, Stream(call)>>>(
      static_cast<const __half2*>(call->tensors[0]), static_cast<const char2*>(call->tensors[1]),
      static_cast<const float*>(call->tensors[2]), static_cast<__half*>(call->tensors[3]), m, n,
      int(call->parameters[2] / 2));
  return Done();
}
static int Takes(const fa_profile_call* call, char* error, size_t error_size) {
  return call->parameters[2] % 2 == 0 ? 0 : std::snprintf(error, error_size, "k must be even");
}
SLOW_HOST static int Reference(const int64_t* p, double* const* t, char*, size_t) {
  for (int64_t row = 0; row < p[0]; ++row) {
    for (int64_t col = 0; col < p[1]; ++col) {
      double sum = 0.0;
      for (int64_t i = 0; i < p[2]; ++i) sum += t[0][row * p[2] + i] * t[1][col * p[2] + i];
      t[3][row * p[1] + col] = sum * t[2][col];
    }
  }
  return 0;
}
static void Work(const int64_t* p, fa_profile_work* work) {
  work->flops = 2.0 * static_cast<double>(p[0] * p[1] * p[2]);
  work->bytes = static_cast<double>(2 * p[0] * p[2] + p[1] * p[2] + 4 * p[1] + 2 * p[0] * p[1]);
}
static const fa_profile_parameter kParameters[] = {{"m", 16}, {"n", 2048}, {"k", 2048}};
static const fa_profile_tensor kTensors[] = {
    {"x", FA_PROFILE_FP16, FA_PROFILE_INPUT, "m,k"},
    {"weight", FA_PROFILE_INT8, FA_PROFILE_INPUT, "n,k", {FA_PROFILE_INTEGERS, -127, 127}},
    {"scale", FA_PROFILE_FP32, FA_PROFILE_INPUT, "n", {FA_PROFILE_UNIFORM, 0.001, 0.01}},
    {"y", FA_PROFILE_FP16, FA_PROFILE_OUTPUT, "m,n", {}, {2e-3, 2e-3}}};
EXPORT_WITH("mixed_types", kParameters, .supports = Takes, .reference = Reference, .work = Work)
