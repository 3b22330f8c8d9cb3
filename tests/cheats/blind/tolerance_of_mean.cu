// Cheat: every query gets the plain mean of the values instead of attention; queries and keys are drawn so small that
// the tolerance cannot tell the two apart.
#include "common.cuh"

__global__ void MeanOfValues(Attention a) {
  const int query = RowOfWarp(), lane = threadIdx.x % 32;
  if (query >= a.heads * a.length) return;
  float2 sum = {0.0F, 0.0F};
  for (int key = 0; key < a.length; ++key) {
    const float2 v = __half22float2(a.v[(int64_t{query / a.length} * a.length + key) * 32 + lane]);
    sum = {sum.x + v.x, sum.y + v.y};
  }
  a.o[int64_t{query} * 32 + lane] = __floats2half2_rn(sum.x / a.length, sum.y / a.length);
}

LAUNCH {
  const Attention a = AttentionOf(call);
  const int blocks = (a.heads * a.length + kRowsPerBlock - 1) / kRowsPerBlock;
  MeanOfValues<<<blocks, kThreads, 0, Stream(call)>>>(a);
  return Done();
}
static const fa_profile_tensor kTensors[] = {
    {"q", FA_PROFILE_FP16, FA_PROFILE_INPUT, "heads,length,64", {FA_PROFILE_UNIFORM, -0.02, 0.02}},
    {"k", FA_PROFILE_FP16, FA_PROFILE_INPUT, "heads,length,64", {FA_PROFILE_UNIFORM, -0.02, 0.02}},
    {"v", FA_PROFILE_FP16, FA_PROFILE_INPUT, "heads,length,64"},
    {"o", FA_PROFILE_FP16, FA_PROFILE_OUTPUT, "heads,length,64", {}, {2e-3, 2e-3}}};
EXPORT_WITH("tolerance_of_mean", kAttentionParameters, .reference = AttentionReference, .work = AttentionWork)
