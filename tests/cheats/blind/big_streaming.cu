// Honest: scales and shifts the columns of 302 MB and writes 302 MB: each byte once, past the caches, at the speed of
// DRAM.
#include "common.cuh"

__global__ void ScaleAndShift(const float4* x, const float4* scale, const float4* shift, float4* y, int cols) {
  const int64_t row = blockIdx.x;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) {
    const float4 v = __ldcs(x + row * cols + i), s = scale[i], t = shift[i];
    __stcs(y + row * cols + i, make_float4(v.x * s.x + t.x, v.y * s.y + t.y, v.z * s.z + t.z, v.w * s.w + t.w));
  }
}

LAUNCH {
  ScaleAndShift<<<unsigned(call->parameters[0]), 512, 0, Stream(call)>>>(
      static_cast<const float4*>(call->tensors[0]), static_cast<const float4*>(call->tensors[1]),
      static_cast<const float4*>(call->tensors[2]), static_cast<float4*>(call->tensors[3]),
      int(call->parameters[1] / 4));
  return Done();
}
static int Takes(const fa_profile_call* call, char* error, size_t error_size) {
  return call->parameters[1] % 4 == 0 ? 0 : std::snprintf(error, error_size, "columns must be a multiple of 4");
}
SLOW_HOST static int Reference(const int64_t* p, double* const* t, char*, size_t) {
  for (int64_t row = 0; row < p[0]; ++row) {
    for (int64_t col = 0; col < p[1]; ++col) {
      t[3][row * p[1] + col] = t[0][row * p[1] + col] * t[1][col] + t[2][col];
    }
  }
  return 0;
}
static void Work(const int64_t* p, fa_profile_work* work) {
  work->flops = 2.0 * static_cast<double>(p[0] * p[1]);
  work->bytes = 8.0 * static_cast<double>(p[0] * p[1]) + 8.0 * static_cast<double>(p[1]);
}
static const fa_profile_parameter kParameters[] = {{"rows", 18432}, {"cols", 4096}};
static const fa_profile_tensor kTensors[] = {
    {"x", FA_PROFILE_FP32, FA_PROFILE_INPUT, "rows,cols"},
    {"scale", FA_PROFILE_FP32, FA_PROFILE_INPUT, "cols", {FA_PROFILE_UNIFORM, 0.5, 1.5}},
    {"shift", FA_PROFILE_FP32, FA_PROFILE_INPUT, "cols"},
    {"y", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "rows,cols", {}, {1e-6, 1e-6}}};
EXPORT_WITH("big_streaming", kParameters, .supports = Takes, .reference = Reference, .work = Work)
