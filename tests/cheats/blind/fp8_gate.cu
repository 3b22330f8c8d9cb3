// Honest: x * sigmoid(x) with an output in fp8 e4m3, which has three bits of mantissa: rounding alone, up to a 16th, is
// nearly all of the tolerance.
#include <cuda_fp8.h>

#include "common.cuh"

__global__ void Gate(const float* x, __nv_fp8_e4m3* y, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) y[i] = __nv_fp8_e4m3(x[i] / (1.0F + __expf(-x[i])));
}

LAUNCH {
  const int64_t count = call->parameters[0] * call->parameters[1];
  Gate<<<unsigned((count + kThreads - 1) / kThreads), kThreads, 0, Stream(call)>>>(
      static_cast<const float*>(call->tensors[0]), static_cast<__nv_fp8_e4m3*>(call->tensors[1]), count);
  return Done();
}
SLOW_HOST static int Reference(const int64_t* p, double* const* t, char*, size_t) {
  for (int64_t i = 0; i < p[0] * p[1]; ++i) t[1][i] = t[0][i] / (1.0 + std::exp(-t[0][i]));
  return 0;
}
static const fa_profile_parameter kParameters[] = {{"rows", 1024}, {"cols", 512}};
static const fa_profile_tensor kTensors[] = {
    {"x", FA_PROFILE_FP32, FA_PROFILE_INPUT, "rows,cols"},
    {"y", FA_PROFILE_FP8_E4M3, FA_PROFILE_OUTPUT, "rows,cols", {}, {1.0 / 512, 0.0667}}};
EXPORT_WITH("fp8_gate", kParameters, .reference = Reference)
