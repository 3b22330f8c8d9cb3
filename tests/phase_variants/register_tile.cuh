// A family without matrix instructions: register tiles.
#pragma once

#include "parts.cuh"

namespace phase_variants {
namespace {

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
  static std::size_t WorkspaceBytes(const Arguments& args) {
    return NoWorkspace(args);
  }
  template <class T>
  static int Launch(const Arguments& args);
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
int RegisterTile::Launch(const Arguments& args) {
  return Start(RegisterTileForward<T>, args, args.seqlen / T::kTile * args.batch * args.num_heads, Tile<T>::kThreads,
               static_cast<int>(sizeof(Tile<T>)));
}

}  // namespace register_tile

}  // namespace
}  // namespace phase_variants
