// Honest: a recursive filter, y[i] = x[i] + 0.5 y[i-1], by one thread a channel, so that each call takes some 5 ms
// whatever the GPU.
#include "common.cuh"

__global__ void Filter(const float* x, float* y, int channels, int length) {
  const int channel = blockIdx.x * 32 + threadIdx.x;
  if (channel >= channels) return;
  float last = 0.0F;
  for (int i = 0; i < length; ++i) {
    last = x[int64_t{i} * channels + channel] + 0.5F * last;
    y[int64_t{i} * channels + channel] = last;
  }
}

LAUNCH {
  const int channels = int(call->parameters[0]), length = int(call->parameters[1]);
  Filter<<<(channels + 31) / 32, 32, 0, Stream(call)>>>(static_cast<const float*>(call->tensors[0]),
                                                        static_cast<float*>(call->tensors[1]), channels, length);
  return Done();
}
SLOW_HOST static int Reference(const int64_t* p, double* const* t, char*, size_t) {
  for (int64_t i = 0; i < p[0] * p[1]; ++i) t[1][i] = t[0][i] + (i < p[0] ? 0.0 : 0.5 * t[1][i - p[0]]);
  return 0;
}
static const fa_profile_parameter kParameters[] = {{"channels", 32}, {"length", 32768}};
static const fa_profile_tensor kTensors[] = {
    {"x", FA_PROFILE_FP32, FA_PROFILE_INPUT, "length,channels"},
    {"y", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "length,channels", {}, {1e-5, 1e-5}}};
EXPORT_WITH("long_call", kParameters, .reference = Reference)
