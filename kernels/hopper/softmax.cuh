#pragma once

// The online softmax of one warpgroup's scores, in the accumulator's registers of WGMMA. A thread has two rows (`half`
// 0 and 1, 8 rows apart); the four lanes of a quad share them.

#include "hopper/exponential.h"
#include "hopper/layout.h"
#include "hopper/warp.cuh"

namespace fa_profile::hopper {
namespace {

/// Which of a thread's two rows element `i` of an accumulator belongs to.
__device__ __forceinline__ constexpr int HalfOf(int i) { return i / 2 % 2; }

/// The scores of keys that a row must not see become minus infinity. `left`: how many keys of the tile the row sees,
/// for each of the thread's rows.
template <int kCount>
__device__ __forceinline__ void Mask(float (&scores)[kCount], const int (&left)[2], int thread) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (AccumulatorColumn(0, i) >= left[HalfOf(i)] - AccumulatorColumn(thread, 0)) scores[i] = MinusInfinity();
  }
}

/// max[half] = the maximum of it and of the row's scores, over the quad.
template <int kCount>
__device__ __forceinline__ void RaiseMaxima(float (&max)[2], const float (&scores)[kCount]) {
  float partial[2][2] = {{scores[0], scores[1]}, {scores[2], scores[3]}};
#pragma unroll
  for (int i = 4; i < kCount; ++i) partial[HalfOf(i)][i % 2] = fmaxf(partial[HalfOf(i)][i % 2], scores[i]);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float row = fmaxf(partial[half][0], partial[half][1]);
    row = fmaxf(row, OfLaneXor(row, 1));
    row = fmaxf(row, OfLaneXor(row, 2));
    max[half] = fmaxf(max[half], row);
  }
}

/// scores = 2^(scores * c - shift). One FFMA and one MUFU a score, or for kOf16 of 16 the polynomial.
template <int kOf16, int kCount>
__device__ __forceinline__ void Exponentiate(float (&scores)[kCount], float c, const float (&shift)[2]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const float x = scores[i] * c - shift[HalfOf(i)];
    scores[i] = IsOnFma(i, kOf16) ? Exp2OnFma(x) : Exp2OnMufu(x);
  }
}

/// sum[half] += the scores of the row, this thread's columns only.
template <int kCount>
__device__ __forceinline__ void AddScores(float (&sum)[2], const float (&scores)[kCount]) {
  float partial[2][2] = {};
#pragma unroll
  for (int i = 0; i < kCount; ++i) partial[HalfOf(i)][i % 2] += scores[i];
#pragma unroll
  for (int half = 0; half < 2; ++half) sum[half] += partial[half][0] + partial[half][1];
}

/// The sum over the quad.
__device__ __forceinline__ float QuadSum(float x) {
  x += OfLaneXor(x, 1);
  x += OfLaneXor(x, 2);
  return x;
}

}  // namespace
}  // namespace fa_profile::hopper
