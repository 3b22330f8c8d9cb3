// A family without matrix instructions: a warp for a row.
#pragma once

#include "parts.cuh"

namespace phase_variants {
namespace {

/// A warp owns kRows query rows; its lanes share out the head dimension and add up by shuffles.
namespace row_warp {

struct RowWarp {
  static constexpr int kHeadDim = 64;
  static constexpr bool kCausal = false;
  static constexpr int kWarps = 4;
  static constexpr int kChunk = 4;  // keys at a time
  static constexpr Exp kExp = Exp::kEx2;

  template <class T>
  static std::size_t WorkspaceBytes(const Arguments& args) {
    return NoWorkspace(args);
  }
  template <class T>
  static int Launch(const Arguments& args);
};

template <class T>
using Row = float2[T::kHeadDim / 64];

template <class T>
__device__ __forceinline__ void LoadRow(Row<T>& to, const __half* from, int lane) {
#pragma unroll
  for (int i = 0; i < T::kHeadDim / 64; ++i) {
    to[i] = __half22float2(__ldg(reinterpret_cast<const __half2*>(from) + lane + 32 * i));
  }
}

template <class T>
__device__ __forceinline__ void load_q(Row<T>& q, const __half* from, int lane) {
  LoadRow<T>(q, from, lane);
}

template <class T>
__device__ __forceinline__ void load_kv(Row<T> (&k)[T::kChunk], Row<T> (&v)[T::kChunk], const __half* k_from,
                                        const __half* v_from, int lane) {
#pragma unroll
  for (int j = 0; j < T::kChunk; ++j) {
    LoadRow<T>(k[j], k_from + j * T::kHeadDim, lane);
    LoadRow<T>(v[j], v_from + j * T::kHeadDim, lane);
  }
}

template <class T>
__device__ __forceinline__ void qk(float (&scores)[T::kChunk], const Row<T>& q, const Row<T> (&k)[T::kChunk]) {
#pragma unroll
  for (int j = 0; j < T::kChunk; ++j) {
    float dot = 0.0F;
#pragma unroll
    for (int i = 0; i < T::kHeadDim / 64; ++i) {
      dot = fmaf(q[i].x, k[j][i].x, dot);
      dot = fmaf(q[i].y, k[j][i].y, dot);
    }
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) dot += __shfl_xor_sync(kAll, dot, lanes);
    scores[j] = dot;
  }
}

template <class T>
__device__ __forceinline__ float softmax(float (&scores)[T::kChunk], float& max, float& sum, float c, int keys_left) {
  float new_max = max;
#pragma unroll
  for (int j = 0; j < T::kChunk; ++j) {
    scores[j] = T::kCausal && j >= keys_left ? -Infinity() : scores[j] * c;
    new_max = fmaxf(new_max, scores[j]);
  }
  const float correction = Exponential<T::kExp>(max - new_max);
  max = new_max;
  sum *= correction;
#pragma unroll
  for (int j = 0; j < T::kChunk; ++j) {
    scores[j] = Exponential<T::kExp>(scores[j] - max, j);
    sum += scores[j];
  }
  return correction;
}

template <class T>
__device__ __forceinline__ void rescale(Row<T>& o, float correction) {
#pragma unroll
  for (float2& x : o) {
    x.x *= correction;
    x.y *= correction;
  }
}

template <class T>
__device__ __forceinline__ void pv(Row<T>& o, const float (&p)[T::kChunk], const Row<T> (&v)[T::kChunk]) {
#pragma unroll
  for (int j = 0; j < T::kChunk; ++j) {
#pragma unroll
    for (int i = 0; i < T::kHeadDim / 64; ++i) {
      o[i].x = fmaf(p[j], v[j][i].x, o[i].x);
      o[i].y = fmaf(p[j], v[j][i].y, o[i].y);
    }
  }
}

template <class T>
__device__ __forceinline__ void epilogue(__half* to, const Row<T>& o, float sum, int lane) {
#pragma unroll
  for (int i = 0; i < T::kHeadDim / 64; ++i) {
    reinterpret_cast<__half2*>(to)[lane + 32 * i] = __floats2half2_rn(o[i].x / sum, o[i].y / sum);
  }
}

template <class T>
__global__ void __launch_bounds__(32 * T::kWarps) RowWarpForward(const Call call) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int index = static_cast<int>(blockIdx.x) * T::kWarps + static_cast<int>(threadIdx.x) / 32;
  const int row = index % call.seqlen;
  const std::int64_t head = static_cast<std::int64_t>(index / call.seqlen) * call.seqlen * T::kHeadDim;
  const int end = T::kCausal ? row + 1 : call.seqlen;
  Row<T> q;
  Row<T> o = {};
  float max = -Infinity();
  float sum = 0.0F;
  load_q<T>(q, call.q + head + static_cast<std::int64_t>(row) * T::kHeadDim, lane);
  for (int key = 0; key < end; key += T::kChunk) {
    const std::int64_t from = head + static_cast<std::int64_t>(key) * T::kHeadDim;
    Row<T> k[T::kChunk];
    Row<T> v[T::kChunk];
    float scores[T::kChunk];
    load_kv<T>(k, v, call.k + from, call.v + from, lane);
    qk<T>(scores, q, k);
    const float correction =
        softmax<T>(scores, max, sum, call.scale * (kIsBase2<T::kExp> ? kLog2E : 1.0F), row + 1 - key);
    rescale<T>(o, correction);
    pv<T>(o, scores, v);
  }
  epilogue<T>(call.o + head + static_cast<std::int64_t>(row) * T::kHeadDim, o, sum, lane);
}

template <class T>
int RowWarp::Launch(const Arguments& args) {
  return Start(RowWarpForward<T>, args, args.seqlen * args.batch * args.num_heads / T::kWarps, 32 * T::kWarps, 0);
}

}  // namespace row_warp

}  // namespace
}  // namespace phase_variants
