// Families without matrix instructions: a thread for a row, a warp for a row, and register tiles.
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
  static std::size_t WorkspaceBytes(const fa_profile_attention_args& args) {
    return NoWorkspace(args);
  }
  template <class T>
  static int Launch(const fa_profile_attention_args& args);
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
int RowThread::Launch(const fa_profile_attention_args& args) {
  return Start(RowThreadForward<T>, args, args.seqlen / T::kThreads * args.batch * args.num_heads, T::kThreads, 0);
}

}  // namespace row_thread

/// A warp owns kRows query rows; its lanes share out the head dimension and add up by shuffles.
namespace row_warp {

struct RowWarp {
  static constexpr int kHeadDim = 64;
  static constexpr bool kCausal = false;
  static constexpr int kWarps = 4;
  static constexpr int kChunk = 4;  // keys at a time
  static constexpr Exp kExp = Exp::kEx2;

  template <class T>
  static std::size_t WorkspaceBytes(const fa_profile_attention_args& args) {
    return NoWorkspace(args);
  }
  template <class T>
  static int Launch(const fa_profile_attention_args& args);
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
int RowWarp::Launch(const fa_profile_attention_args& args) {
  return Start(RowWarpForward<T>, args, args.seqlen * args.batch * args.num_heads / T::kWarps, 32 * T::kWarps, 0);
}

}  // namespace row_warp

/// A block owns kTile rows and takes kTile keys at a time: 4 x 4 scores a thread, P in shared memory, maxima and sums
/// by one thread a row between barriers.
namespace register_tile {

struct RegisterTile {
  static constexpr int kHeadDim = 64;
  static constexpr bool kCausal = false;
  static constexpr int kTile = 32;
  static constexpr int kQkUnroll = 4;
  static constexpr int kPvUnroll = 4;
  static constexpr bool kTransposedK = false;
  static constexpr Exp kExp = Exp::kEx2;

  template <class T>
  static std::size_t WorkspaceBytes(const fa_profile_attention_args& args) {
    return NoWorkspace(args);
  }
  template <class T>
  static int Launch(const fa_profile_attention_args& args);
};

template <class T>
struct Tile {
  static constexpr int kSide = T::kTile / 4;  // threads
  static constexpr int kThreads = kSide * kSide;
  static constexpr int kColumns = T::kHeadDim / kSide;  // of O, a thread
  static constexpr int kKRows = T::kTransposedK ? T::kHeadDim : T::kTile;
  static constexpr int kKPitch = (T::kTransposedK ? T::kTile : T::kHeadDim) + 1;
  float q[T::kTile][T::kHeadDim + 1];
  float k[kKRows][kKPitch];
  float v[T::kTile][T::kHeadDim];
  float s[T::kTile][T::kTile + 1];
  float max[T::kTile];
  float sum[T::kTile];
  float correction[T::kTile];
};

template <class T>
__device__ __forceinline__ void load_q(Tile<T>& tile, const __half* q) {
  for (int i = static_cast<int>(threadIdx.x); i < T::kTile * T::kHeadDim; i += Tile<T>::kThreads) {
    tile.q[i / T::kHeadDim][i % T::kHeadDim] = __half2float(q[i]);
  }
  if (threadIdx.x < T::kTile) {
    tile.max[threadIdx.x] = -Infinity();
    tile.sum[threadIdx.x] = 0.0F;
  }
}

template <class T>
__device__ __forceinline__ void load_kv(Tile<T>& tile, const __half* k, const __half* v) {
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < T::kTile * T::kHeadDim; i += Tile<T>::kThreads) {
    const int row = i / T::kHeadDim;
    const int column = i % T::kHeadDim;
    if constexpr (T::kTransposedK) {
      tile.k[column][row] = __half2float(k[i]);
    } else {
      tile.k[row][column] = __half2float(k[i]);
    }
    tile.v[row][column] = __half2float(v[i]);
  }
}

__device__ __forceinline__ void sync() { __syncthreads(); }

/// Scores of rows 4 y + i and keys x + kSide j to shared memory.
template <class T>
__device__ __forceinline__ void qk(Tile<T>& tile, int x, int y, float c, int query, int key0) {
  float scores[4][4] = {};
  constexpr int kUnroll = T::kQkUnroll;
#pragma unroll kUnroll
  for (int d = 0; d < T::kHeadDim; ++d) {
    float a[4];
    float b[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      a[i] = tile.q[4 * y + i][d];
      const int key = x + Tile<T>::kSide * i;
      b[i] = *(&tile.k[0][0] + (T::kTransposedK ? d * Tile<T>::kKPitch + key : key * Tile<T>::kKPitch + d));
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) scores[i][j] = fmaf(a[i], b[j], scores[i][j]);
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const bool masked = T::kCausal && key0 + x + Tile<T>::kSide * j > query + 4 * y + i;
      tile.s[4 * y + i][x + Tile<T>::kSide * j] = masked ? -Infinity() : scores[i][j] * c;
    }
  }
}

/// One thread a row.
template <class T>
__device__ __forceinline__ void softmax(Tile<T>& tile) {
  if (threadIdx.x >= T::kTile) return;
  float* const row = tile.s[threadIdx.x];
  const float old = tile.max[threadIdx.x];
  float max = old;
#pragma unroll 4
  for (int j = 0; j < T::kTile; ++j) max = fmaxf(max, row[j]);
  float sum = 0.0F;
#pragma unroll 4
  for (int j = 0; j < T::kTile; ++j) {
    row[j] = Exponential<T::kExp>(row[j] - max);
    sum += row[j];
  }
  const float correction = Exponential<T::kExp>(old - max);
  tile.max[threadIdx.x] = max;
  tile.sum[threadIdx.x] = tile.sum[threadIdx.x] * correction + sum;
  tile.correction[threadIdx.x] = correction;
}

template <class T>
__device__ __forceinline__ void rescale(float (&o)[4][Tile<T>::kColumns], const Tile<T>& tile, int y) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (float& value : o[i]) value *= tile.correction[4 * y + i];
  }
}

template <class T>
__device__ __forceinline__ void pv(float (&o)[4][Tile<T>::kColumns], const Tile<T>& tile, int x, int y) {
  constexpr int kUnroll = T::kPvUnroll;
#pragma unroll kUnroll
  for (int key = 0; key < T::kTile; ++key) {
    float p[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) p[i] = tile.s[4 * y + i][key];
#pragma unroll
    for (int j = 0; j < Tile<T>::kColumns; ++j) {
      const float v = tile.v[key][x + Tile<T>::kSide * j];
#pragma unroll
      for (int i = 0; i < 4; ++i) o[i][j] = fmaf(p[i], v, o[i][j]);
    }
  }
}

template <class T>
__device__ __forceinline__ void epilogue(__half* out, const float (&o)[4][Tile<T>::kColumns], const Tile<T>& tile,
                                         int x, int y) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float inverse = 1.0F / tile.sum[4 * y + i];
#pragma unroll
    for (int j = 0; j < Tile<T>::kColumns; ++j) {
      out[(4 * y + i) * T::kHeadDim + x + Tile<T>::kSide * j] = __float2half(o[i][j] * inverse);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(Tile<T>::kThreads) RegisterTileForward(const Call call) {
  extern __shared__ __align__(1024) unsigned char shared[];
  Tile<T>& tile = *reinterpret_cast<Tile<T>*>(shared);
  const int x = static_cast<int>(threadIdx.x) % Tile<T>::kSide;
  const int y = static_cast<int>(threadIdx.x) / Tile<T>::kSide;
  const int row_blocks = call.seqlen / T::kTile;
  const int query = static_cast<int>(blockIdx.x) % row_blocks * T::kTile;
  const std::int64_t head = static_cast<std::int64_t>(blockIdx.x) / row_blocks * call.seqlen * T::kHeadDim;
  const int end = T::kCausal ? query + T::kTile : call.seqlen;
  float o[4][Tile<T>::kColumns] = {};
  load_q<T>(tile, call.q + head + query * T::kHeadDim);
  for (int key0 = 0; key0 < end; key0 += T::kTile) {
    const std::int64_t from = head + static_cast<std::int64_t>(key0) * T::kHeadDim;
    load_kv<T>(tile, call.k + from, call.v + from);
    sync();
    qk<T>(tile, x, y, call.scale * (kIsBase2<T::kExp> ? kLog2E : 1.0F), query, key0);
    sync();
    softmax<T>(tile);
    sync();
    rescale<T>(o, tile, y);
    pv<T>(o, tile, x, y);
    sync();
  }
  epilogue<T>(call.o + head + query * T::kHeadDim, o, tile, x, y);
}

template <class T>
int RegisterTile::Launch(const fa_profile_attention_args& args) {
  return Start(RegisterTileForward<T>, args, args.seqlen / T::kTile * args.batch * args.num_heads, Tile<T>::kThreads,
               static_cast<int>(sizeof(Tile<T>)));
}

}  // namespace register_tile
}  // namespace
}  // namespace phase_variants
