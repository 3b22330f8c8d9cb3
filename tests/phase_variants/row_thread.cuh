// A family without matrix instructions: a thread for a row.
#pragma once

#include "parts.cuh"

namespace phase_variants {
namespace {

/// A thread owns a query row. Tiles of K and V are in shared memory as floats or halves; scores are worked on kChunk
/// keys at a time.
namespace row_thread {

struct RowThread {
  static constexpr int kHeadDim = 64;
  static constexpr bool kCausal = false;
  static constexpr int kThreads = 64;
  static constexpr int kKeys = 32;
  static constexpr int kChunk = 8;
  static constexpr bool kFloatTiles = true;
  static constexpr Exp kExp = Exp::kEx2;

  template <class T>
  static std::size_t WorkspaceBytes(const Arguments& args) {
    return NoWorkspace(args);
  }
  template <class T>
  static int Launch(const Arguments& args);
};

template <bool kFloat>
struct Element {
  using Type = float;
};
template <>
struct Element<false> {
  using Type = __half;
};
template <class T>
struct Tile {
  typename Element<T::kFloatTiles>::Type k[T::kKeys][T::kHeadDim];
  typename Element<T::kFloatTiles>::Type v[T::kKeys][T::kHeadDim];
};

__device__ __forceinline__ float2 Two(const float* from) { return *reinterpret_cast<const float2*>(from); }
__device__ __forceinline__ float2 Two(const __half* from) {
  return __half22float2(*reinterpret_cast<const __half2*>(from));
}
__device__ __forceinline__ void Put(float* to, float2 x) { *reinterpret_cast<float2*>(to) = x; }
__device__ __forceinline__ void Put(__half* to, float2 x) {
  *reinterpret_cast<__half2*>(to) = __floats2half2_rn(x.x, x.y);
}

template <class T>
__device__ __forceinline__ void load_q(float (&q)[T::kHeadDim], const __half* from, float c) {
#pragma unroll
  for (int d = 0; d < T::kHeadDim; d += 2) {
    const float2 pair = Two(from + d);
    q[d] = pair.x * c;
    q[d + 1] = pair.y * c;
  }
}

template <class T>
__device__ __forceinline__ void load_kv(Tile<T>& tile, const __half* k, const __half* v) {
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < T::kKeys * T::kHeadDim / 2; i += T::kThreads) {
    const int row = 2 * i / T::kHeadDim;
    const int column = 2 * i % T::kHeadDim;
    Put(&tile.k[row][column], Two(k + 2 * i));
    Put(&tile.v[row][column], Two(v + 2 * i));
  }
}

__device__ __forceinline__ void sync() { __syncthreads(); }

template <class T>
__device__ __forceinline__ void qk(float (&scores)[T::kChunk], const float (&q)[T::kHeadDim], const Tile<T>& tile,
                                   int key) {
#pragma unroll
  for (int j = 0; j < T::kChunk; ++j) {
    float even = 0.0F;
    float odd = 0.0F;
#pragma unroll
    for (int d = 0; d < T::kHeadDim; d += 2) {
      const float2 k = Two(&tile.k[key + j][d]);
      even = fmaf(q[d], k.x, even);
      odd = fmaf(q[d + 1], k.y, odd);
    }
    scores[j] = even + odd;
  }
}

template <class T>
__device__ __forceinline__ float softmax(float (&scores)[T::kChunk], float& max, float& sum, int keys_left) {
  float new_max = max;
#pragma unroll
  for (int j = 0; j < T::kChunk; ++j) {
    if (T::kCausal && j >= keys_left) scores[j] = -Infinity();
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
__device__ __forceinline__ void rescale(float (&o)[T::kHeadDim], float correction) {
#pragma unroll
  for (float& x : o) x *= correction;
}

template <class T>
__device__ __forceinline__ void pv(float (&o)[T::kHeadDim], const float (&p)[T::kChunk], const Tile<T>& tile, int key) {
#pragma unroll
  for (int j = 0; j < T::kChunk; ++j) {
#pragma unroll
    for (int d = 0; d < T::kHeadDim; d += 2) {
      const float2 v = Two(&tile.v[key + j][d]);
      o[d] = fmaf(p[j], v.x, o[d]);
      o[d + 1] = fmaf(p[j], v.y, o[d + 1]);
    }
  }
}

template <class T>
__device__ __forceinline__ void epilogue(__half* to, const float (&o)[T::kHeadDim], float sum) {
  const float inverse = 1.0F / sum;
#pragma unroll
  for (int d = 0; d < T::kHeadDim; d += 2) Put(to + d, make_float2(o[d] * inverse, o[d + 1] * inverse));
}

template <class T>
__global__ void __launch_bounds__(T::kThreads) RowThreadForward(const Call call) {
  __shared__ __align__(16) Tile<T> tile;
  const int row_blocks = call.seqlen / T::kThreads;
  const int first_row = static_cast<int>(blockIdx.x) % row_blocks * T::kThreads;
  const int row = first_row + static_cast<int>(threadIdx.x);
  const std::int64_t head = static_cast<std::int64_t>(blockIdx.x) / row_blocks * call.seqlen * T::kHeadDim;
  const int end = T::kCausal ? first_row + T::kThreads : call.seqlen;
  float q[T::kHeadDim];
  float o[T::kHeadDim] = {};
  float max = -Infinity();
  float sum = 0.0F;
  load_q<T>(q, call.q + head + row * T::kHeadDim, call.scale * (kIsBase2<T::kExp> ? kLog2E : 1.0F));
  for (int key0 = 0; key0 < end; key0 += T::kKeys) {
    const std::int64_t from = head + static_cast<std::int64_t>(key0) * T::kHeadDim;
    sync();
    load_kv<T>(tile, call.k + from, call.v + from);
    sync();
#pragma unroll 1
    for (int key = 0; key < T::kKeys; key += T::kChunk) {
      float scores[T::kChunk];
      qk<T>(scores, q, tile, key);
      const float correction = softmax<T>(scores, max, sum, row + 1 - key0 - key);
      rescale<T>(o, correction);
      pv<T>(o, scores, tile, key);
    }
  }
  epilogue<T>(call.o + head + row * T::kHeadDim, o, sum);
}

template <class T>
int RowThread::Launch(const Arguments& args) {
  return Start(RowThreadForward<T>, args, args.seqlen / T::kThreads * args.batch * args.num_heads, T::kThreads, 0);
}

}  // namespace row_thread

}  // namespace
}  // namespace phase_variants
