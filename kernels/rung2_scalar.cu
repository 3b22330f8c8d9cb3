// Rung 2: one thread per query row, Q and O in registers, nothing shared and no barrier. One warp per SM at the mission
// shape: every load's latency is in plain sight (long_scoreboard), and so is that of every dependent FMA (wait).
#include "rung.h"

namespace fa_profile {
namespace {

constexpr int kThreads = 32;  // rows per block: 4096 rows make 128 blocks, one for nearly every SM
constexpr int kHalvesPerLoad = sizeof(uint4) / sizeof(__half);
constexpr float kLog2e = 1.4426950408889634F;

__device__ __forceinline__ __half2 AsHalf2(unsigned bits) { return *reinterpret_cast<const __half2*>(&bits); }

// Q stays in fp16: in fp32 it would not fit beside O at head_dim 128.
template <int kHeadDim>
__device__ __forceinline__ void load_q(uint4 (&q)[kHeadDim / kHalvesPerLoad], const __half* from) {
#pragma unroll
  for (int i = 0; i < kHeadDim / kHalvesPerLoad; ++i) q[i] = reinterpret_cast<const uint4*>(from)[i];
}

__device__ __forceinline__ void MultiplyAdd(unsigned a, unsigned b, float& even, float& odd) {
  const float2 x = __half22float2(AsHalf2(a));
  const float2 y = __half22float2(AsHalf2(b));
  even += x.x * y.x;
  odd += x.y * y.y;
}

// All lanes read the same key, 16 bytes at a time: one sector a request.
template <int kHeadDim>
__device__ __forceinline__ float qk(const uint4 (&q)[kHeadDim / kHalvesPerLoad], const __half* k, float scale) {
  float even = 0.0F;
  float odd = 0.0F;
#pragma unroll
  for (int i = 0; i < kHeadDim / kHalvesPerLoad; ++i) {
    const uint4 key = reinterpret_cast<const uint4*>(k)[i];
    MultiplyAdd(q[i].x, key.x, even, odd);
    MultiplyAdd(q[i].y, key.y, even, odd);
    MultiplyAdd(q[i].z, key.z, even, odd);
    MultiplyAdd(q[i].w, key.w, even, odd);
  }
  return (even + odd) * scale;
}

template <int kHeadDim>
__device__ __forceinline__ void rescale(float (&o)[kHeadDim], float& sum, float correction) {
#pragma unroll
  for (int d = 0; d < kHeadDim; ++d) o[d] *= correction;
  sum *= correction;
}

// The score's weight under the running maximum, which only a new largest score moves.
template <int kHeadDim>
__device__ __forceinline__ float softmax(float score, float& max, float& sum, float (&o)[kHeadDim]) {
  if (score > max) {
    rescale(o, sum, exp2f(max - score));
    max = score;
  }
  const float weight = exp2f(score - max);
  sum += weight;
  return weight;
}

template <int kHeadDim>
__device__ __forceinline__ void pv(float weight, const __half* v, float (&o)[kHeadDim]) {
#pragma unroll
  for (int i = 0; i < kHeadDim / kHalvesPerLoad; ++i) {
    const uint4 value = reinterpret_cast<const uint4*>(v)[i];
    const unsigned words[4] = {value.x, value.y, value.z, value.w};
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const float2 pair = __half22float2(AsHalf2(words[w]));
      o[i * kHalvesPerLoad + 2 * w] += weight * pair.x;
      o[i * kHalvesPerLoad + 2 * w + 1] += weight * pair.y;
    }
  }
}

template <int kHeadDim>
__device__ __forceinline__ void epilogue(__half* out, const float (&o)[kHeadDim], float sum) {
  const float inverse = 1.0F / sum;
#pragma unroll
  for (int d = 0; d < kHeadDim; d += 2) {
    reinterpret_cast<__half2*>(out)[d / 2] = __floats2half2_rn(o[d] * inverse, o[d + 1] * inverse);
  }
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads) ScalarKernel(AttentionParams p) {
  const int tiles = (p.seqlen + kThreads - 1) / kThreads;
  const int row = static_cast<int>(blockIdx.x % tiles) * kThreads + static_cast<int>(threadIdx.x);
  if (row >= p.seqlen) return;
  const std::size_t head = static_cast<std::size_t>(blockIdx.x / tiles) * p.seqlen * kHeadDim;
  const std::size_t query = head + static_cast<std::size_t>(row) * kHeadDim;
  uint4 q[kHeadDim / kHalvesPerLoad];
  float o[kHeadDim] = {};
  float max = -INFINITY;
  float sum = 0.0F;
  load_q<kHeadDim>(q, p.q + query);
  const int keys = p.causal ? row + 1 : p.seqlen;
  const __half* k = p.k + head;
  const __half* v = p.v + head;
#pragma unroll 1
  for (int key = 0; key < keys; ++key, k += kHeadDim, v += kHeadDim) {
    const float score = qk<kHeadDim>(q, k, p.softmax_scale * kLog2e);
    const float weight = softmax<kHeadDim>(score, max, sum, o);
    pv<kHeadDim>(weight, v, o);
  }
  epilogue<kHeadDim>(p.o + query, o, sum);
}

cudaError_t Launch(const AttentionParams& p, cudaStream_t stream) {
  const unsigned tiles = (static_cast<unsigned>(p.seqlen) + kThreads - 1) / kThreads;
  const unsigned blocks = static_cast<unsigned>(p.batch) * static_cast<unsigned>(p.num_heads) * tiles;
  if (p.head_dim == 64) {
    ScalarKernel<64><<<blocks, kThreads, 0, stream>>>(p);
  } else {
    ScalarKernel<128><<<blocks, kThreads, 0, stream>>>(p);
  }
  return cudaGetLastError();
}

}  // namespace

const Rung& ScalarRung() {
  static const Rung rung{.number = 2,
                         .id = "scalar",
                         .teaches = "one warp per SM and no barrier: the latency of every load and FMA is in sight",
                         .phases = {"load_q", "qk", "softmax", "rescale", "pv", "epilogue"},
                         .parts = {{"scalar", Launch}},
                         .why_not = WhyNotCommon,
                         .workspace_bytes = [](const AttentionShape&) { return std::size_t{0}; }};
  return rung;
}

}  // namespace fa_profile
