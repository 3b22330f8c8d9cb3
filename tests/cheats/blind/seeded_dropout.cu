// Honest: dropout without random numbers: an element is dropped by a hash of its index and of a seed that is an input,
// and the mask is a second output in int8.
#include "common.cuh"

__host__ __device__ inline unsigned Hash(unsigned seed, unsigned index) {
  unsigned h = seed * 0x9e3779b9U ^ index;
  h = (h ^ h >> 16) * 0x85ebca6bU;
  h = (h ^ h >> 13) * 0xc2b2ae35U;
  return h ^ h >> 16;
}
__global__ void Dropout(const float* x, const int* seed, float* y, signed char* mask, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  const bool keeps = Hash(unsigned(*seed), unsigned(i)) >= 0x40000000U;  // a quarter is dropped
  y[i] = keeps ? x[i] * (4.0F / 3.0F) : 0.0F;
  mask[i] = keeps;
}

LAUNCH {
  const int64_t count = call->parameters[0] * call->parameters[1];
  Dropout<<<unsigned((count + kThreads - 1) / kThreads), kThreads, 0, Stream(call)>>>(
      static_cast<const float*>(call->tensors[0]), static_cast<const int*>(call->tensors[1]),
      static_cast<float*>(call->tensors[2]), static_cast<signed char*>(call->tensors[3]), count);
  return Done();
}
SLOW_HOST static int Reference(const int64_t* p, double* const* t, char*, size_t) {
  for (int64_t i = 0; i < p[0] * p[1]; ++i) {
    t[3][i] = Hash(unsigned(int(t[1][0])), unsigned(i)) >= 0x40000000U;
    t[2][i] = t[3][i] * t[0][i] * 4.0 / 3.0;
  }
  return 0;
}
static const fa_profile_tensor kTensors[] = {
    {"x", FA_PROFILE_FP32, FA_PROFILE_INPUT, "rows,cols"},
    {"seed", FA_PROFILE_INT32, FA_PROFILE_INPUT, "1", {FA_PROFILE_INTEGERS, 0, 2147483647}},
    {"y", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "rows,cols", {}, {1e-6, 1e-6}},
    {"mask", FA_PROFILE_INT8, FA_PROFILE_OUTPUT, "rows,cols"}};
EXPORT_WITH("seeded_dropout", kMeanParameters, .reference = Reference)
