// Rung 2: one thread per query row, Q and O in registers, nothing shared and no barrier. One warp per SM at the mission
// shape: every load's latency is in plain sight (long_scoreboard), and so is that of every dependent FMA (wait).
//
// A header, because tests/kernel_libs builds variants of this kernel: see Place.
#pragma once

#include "rung.h"

namespace fa_profile {
namespace {

constexpr int kThreads = 32;  // 4096 rows make 128 blocks, one for almost every SM
// Columns of Q and O per thread. At head_dim 128 two neighbouring lanes share a row: one thread's 255 registers hold
// its Q (64, as fp16) and O (128), and then spill the keys in flight.
constexpr int kColumns = 64;
constexpr int kLoads = kColumns * sizeof(__half) / sizeof(uint4);
constexpr int kHalvesPerLoad = kColumns / kLoads;
constexpr float kLog2e = 1.4426950408889634F;

/// What every phase knows about the call. Tests vary the kernel as in rung 7: rung7_mma.cuh explains Place.
struct Place {
  const AttentionParams& params;
};

__device__ __forceinline__ __half2 AsHalf2(unsigned bits) { return *reinterpret_cast<const __half2*>(&bits); }

__device__ __forceinline__ void LoadRow(uint4 (&to)[kLoads], const __half* from) {
#pragma unroll
  for (int i = 0; i < kLoads; ++i) to[i] = reinterpret_cast<const uint4*>(from)[i];
}

__device__ __forceinline__ void load_q(uint4 (&q)[kLoads], const __half* from, const Place&) { LoadRow(q, from); }

// One key and its value, 16 bytes at a time and the same in all lanes. Both before the first use of either: the branch
// in softmax would delay the value, adding its latency to the key's.
__device__ __forceinline__ void load_kv(uint4 (&k)[kLoads], uint4 (&v)[kLoads], const __half* key, const __half* value,
                                        const Place&) {
  LoadRow(k, key);
  LoadRow(v, value);
}

__device__ __forceinline__ void MultiplyAdd(unsigned a, unsigned b, float& even, float& odd) {
  const float2 x = __half22float2(AsHalf2(a));
  const float2 y = __half22float2(AsHalf2(b));
  even += x.x * y.x;
  odd += x.y * y.y;
}

template <int kHeadDim>
__device__ __forceinline__ float qk(const uint4 (&q)[kLoads], const uint4 (&k)[kLoads], float scale, const Place&) {
  float even = 0.0F;
  float odd = 0.0F;
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    MultiplyAdd(q[i].x, k[i].x, even, odd);
    MultiplyAdd(q[i].y, k[i].y, even, odd);
    MultiplyAdd(q[i].z, k[i].z, even, odd);
    MultiplyAdd(q[i].w, k[i].w, even, odd);
  }
  float score = even + odd;
  if constexpr (kHeadDim > kColumns) score += __shfl_xor_sync(0xffffffffU, score, 1);
  return score * scale;
}

__device__ __forceinline__ void rescale(float (&o)[kColumns], float& sum, float correction) {
#pragma unroll
  for (int d = 0; d < kColumns; ++d) o[d] *= correction;
  sum *= correction;
}

// The score's weight under the running maximum, which only a new largest score moves.
__device__ __forceinline__ float softmax(float score, float& max, float& sum, float (&o)[kColumns], const Place&) {
  if (score > max) {
    rescale(o, sum, exp2f(max - score));
    max = score;
  }
  const float weight = exp2f(score - max);
  sum += weight;
  return weight;
}

__device__ __forceinline__ void pv(float weight, const uint4 (&v)[kLoads], float (&o)[kColumns], const Place&) {
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    const unsigned words[4] = {v[i].x, v[i].y, v[i].z, v[i].w};
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const float2 pair = __half22float2(AsHalf2(words[w]));
      o[i * kHalvesPerLoad + 2 * w] += weight * pair.x;
      o[i * kHalvesPerLoad + 2 * w + 1] += weight * pair.y;
    }
  }
}

__device__ __forceinline__ void epilogue(__half* out, const float (&o)[kColumns], float sum, const Place&) {
  const float inverse = 1.0F / sum;
#pragma unroll
  for (int d = 0; d < kColumns; d += 2) {
    reinterpret_cast<__half2*>(out)[d / 2] = __floats2half2_rn(o[d] * inverse, o[d + 1] * inverse);
  }
}

template <int kHeadDim>
constexpr int kRows = kThreads* kColumns / kHeadDim;  // per block

/// The kernel.
template <int kHeadDim, class P>
__device__ __forceinline__ void Scalar(const AttentionParams& p) {
  P place{p};
  constexpr int kThreadsPerRow = kHeadDim / kColumns;
  const int tiles = (p.seqlen + kRows<kHeadDim> - 1) / kRows<kHeadDim>;
  const int first_row = static_cast<int>(blockIdx.x % tiles) * kRows<kHeadDim>;
  const int row = first_row + static_cast<int>(threadIdx.x) / kThreadsPerRow;
  const int column = static_cast<int>(threadIdx.x) % kThreadsPerRow * kColumns;
  const std::size_t head = static_cast<std::size_t>(blockIdx.x / tiles) * p.seqlen * kHeadDim;
  // Lanes past the last row repeat it and write nothing, so that the warp stays whole for its shuffles.
  const std::size_t query = head + static_cast<std::size_t>(min(row, p.seqlen - 1)) * kHeadDim + column;
  const int end = p.causal ? min(first_row + kRows<kHeadDim>, p.seqlen) : p.seqlen;
  uint4 q[kLoads];
  float o[kColumns] = {};
  float max = -INFINITY;
  float sum = 0.0F;
  load_q(q, p.q + query, place);
  const __half* key_row = p.k + head + column;
  const __half* value_row = p.v + head + column;
#pragma unroll 1
  for (int key = 0; key < end; ++key, key_row += kHeadDim, value_row += kHeadDim) {
    uint4 k[kLoads];
    uint4 v[kLoads];
    load_kv(k, v, key_row, value_row, place);
    float score = qk<kHeadDim>(q, k, p.softmax_scale * kLog2e, place);
    if (p.causal && key > row) score = -INFINITY;
    pv(softmax(score, max, sum, o, place), v, o, place);
  }
  if (row < p.seqlen) epilogue(p.o + query, o, sum, place);
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads) ScalarKernel(AttentionParams p) {
  Scalar<kHeadDim, Place>(p);
}

template <int kHeadDim>
unsigned Blocks(const AttentionParams& p) {
  const auto tiles = static_cast<unsigned>((p.seqlen + kRows<kHeadDim> - 1) / kRows<kHeadDim>);
  return static_cast<unsigned>(p.batch) * static_cast<unsigned>(p.num_heads) * tiles;
}

}  // namespace
}  // namespace fa_profile
