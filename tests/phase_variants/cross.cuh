// A family on mma.sync whose warps share the rows: a warp takes its part of a tile's keys in qk, and its part of the
// head dimension in pv. Row maxima and P go through shared memory, with barriers of the block.
#pragma once

#include "parts.cuh"

namespace phase_variants {
namespace {
namespace cross {

struct Cross {
  static constexpr int kHeadDim = 64;
  static constexpr bool kCausal = false;
  static constexpr int kWarps = 4;
  static constexpr int kMTiles = 2;
  static constexpr int kKeys = 64;
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
  static constexpr int kBlockM = 16 * T::kMTiles;
  static constexpr int kWarpKeys = T::kKeys / T::kWarps;
  static constexpr int kWarpColumns = T::kHeadDim / T::kWarps;
  static constexpr int kThreads = 32 * T::kWarps;
  static constexpr int kPitch = T::kHeadDim + 8;
  static constexpr int kPPitch = T::kKeys + 8;
  __half q[kBlockM][kPitch];
  __half k[T::kKeys][kPitch];
  __half v[T::kKeys][kPitch];
  __half p[kBlockM][kPPitch];
  float max[T::kWarps][kBlockM];
  float sum[T::kWarps][kBlockM];
  static_assert(kWarpKeys % 16 == 0 && kWarpColumns % 16 == 0);
};

template <class T, int kRows>
__device__ __forceinline__ void CopyRows(__half (&to)[kRows][Tile<T>::kPitch], const __half* from) {
  constexpr int kChunks = T::kHeadDim / 8;
#pragma unroll
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kChunks; i += Tile<T>::kThreads) {
    CopyAsync16(Shared(&to[i / kChunks][8 * (i % kChunks)]), from + 8 * i);
  }
}

template <class T>
__device__ __forceinline__ void load_q(Tile<T>& tile, const __half* q) {
  CopyRows<T, Tile<T>::kBlockM>(tile.q, q);
}

template <class T>
__device__ __forceinline__ void load_kv(Tile<T>& tile, const __half* k, const __half* v) {
  CopyRows<T, T::kKeys>(tile.k, k);
  CopyRows<T, T::kKeys>(tile.v, v);
}

__device__ __forceinline__ void sync() {
  CommitCopies();
  WaitCopies<0>();
  __syncthreads();
}
__device__ __forceinline__ void sync(int) { __syncthreads(); }

template <class T>
using Scores = float[T::kMTiles][Tile<T>::kWarpKeys / 8][4];
template <class T>
using Output = float[T::kMTiles][Tile<T>::kWarpColumns / 8][4];
template <class T>
using PerRow = float[T::kMTiles][2];

template <class T>
__device__ __forceinline__ void qk(Scores<T>& scores, const Tile<T>& tile, int warp, int lane) {
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (auto& column : scores[mt]) column[0] = column[1] = column[2] = column[3] = 0.0F;
  }
#pragma unroll
  for (int d = 0; d < T::kHeadDim; d += 16) {
#pragma unroll
    for (int np = 0; np < Tile<T>::kWarpKeys / 16; ++np) {
      std::uint32_t b[4];
      const int key = warp * Tile<T>::kWarpKeys + 16 * np + (lane & 7) + ((lane >> 4) << 3);
      LoadMatrix(b, Shared(&tile.k[key][d + 8 * ((lane >> 3) & 1)]));
#pragma unroll
      for (int mt = 0; mt < T::kMTiles; ++mt) {
        std::uint32_t a[4];
        LoadMatrix(a, Shared(&tile.q[16 * mt + (lane & 15)][d + 8 * (lane >> 4)]));
        Mma16(scores[mt][2 * np], a, b[0], b[1]);
        Mma16(scores[mt][2 * np + 1], a, b[2], b[3]);
      }
    }
  }
}

/// Maxima of this warp's keys, to shared memory.
template <class T>
__device__ __forceinline__ void softmax(Scores<T>& scores, Tile<T>& tile, int row0, int key0, int warp, int lane) {
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = 16 * mt + 8 * half + lane / 4;
      float max = -Infinity();
#pragma unroll
      for (int nt = 0; nt < Tile<T>::kWarpKeys / 8; ++nt) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& score = scores[mt][nt][2 * half + i];
          const int key = key0 + warp * Tile<T>::kWarpKeys + 8 * nt + 2 * (lane % 4) + i;
          if (T::kCausal && key > row0 + row) score = -Infinity();
          max = fmaxf(max, score);
        }
      }
      max = fmaxf(max, __shfl_xor_sync(kAll, max, 1));
      max = fmaxf(max, __shfl_xor_sync(kAll, max, 2));
      if (lane % 4 == 0) tile.max[warp][row] = max;
    }
  }
}

/// Probabilities under the maxima of all warps, to shared memory.
template <class T>
__device__ __forceinline__ void softmax(const Scores<T>& scores, Tile<T>& tile, PerRow<T>& row_max, PerRow<T>& row_sum,
                                        PerRow<T>& correction, float c, int warp, int lane) {
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = 16 * mt + 8 * half + lane / 4;
      float max = row_max[mt][half];
#pragma unroll
      for (int w = 0; w < T::kWarps; ++w) max = fmaxf(max, tile.max[w][row]);
      correction[mt][half] = Exponential<T::kExp>((row_max[mt][half] - max) * c);
      row_max[mt][half] = max;
      float sum = row_sum[mt][half] * correction[mt][half];
#pragma unroll
      for (int nt = 0; nt < Tile<T>::kWarpKeys / 8; ++nt) {
        const float p0 = Exponential<T::kExp>((scores[mt][nt][2 * half] - max) * c, 0);
        const float p1 = Exponential<T::kExp>((scores[mt][nt][2 * half + 1] - max) * c, 1);
        sum += p0 + p1;
        *reinterpret_cast<__half2*>(&tile.p[row][warp * Tile<T>::kWarpKeys + 8 * nt + 2 * (lane % 4)]) =
            __floats2half2_rn(p0, p1);
      }
      row_sum[mt][half] = sum;
    }
  }
}

template <class T>
__device__ __forceinline__ void rescale(Output<T>& o, const PerRow<T>& correction) {
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (auto& column : o[mt]) {
#pragma unroll
      for (int i = 0; i < 4; ++i) column[i] *= correction[mt][i / 2];
    }
  }
}

template <class T>
__device__ __forceinline__ void pv(Output<T>& o, const Tile<T>& tile, int warp, int lane) {
#pragma unroll
  for (int key = 0; key < T::kKeys; key += 16) {
#pragma unroll
    for (int dp = 0; dp < Tile<T>::kWarpColumns / 16; ++dp) {
      std::uint32_t b[4];
      LoadMatrixTransposed(
          b, Shared(&tile.v[key + (lane & 15)][warp * Tile<T>::kWarpColumns + 16 * dp + 8 * (lane >> 4)]));
#pragma unroll
      for (int mt = 0; mt < T::kMTiles; ++mt) {
        std::uint32_t a[4];
        LoadMatrix(a, Shared(&tile.p[16 * mt + (lane & 15)][key + 8 * (lane >> 4)]));
        Mma16(o[mt][2 * dp], a, b[0], b[1]);
        Mma16(o[mt][2 * dp + 1], a, b[2], b[3]);
      }
    }
  }
}

template <class T>
__device__ __forceinline__ void epilogue(__half* out, const Output<T>& o, Tile<T>& tile, const PerRow<T>& row_sum,
                                         int warp, int lane) {
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = row_sum[mt][half];
      sum += __shfl_xor_sync(kAll, sum, 1);
      sum += __shfl_xor_sync(kAll, sum, 2);
      if (lane % 4 == 0) tile.sum[warp][16 * mt + 8 * half + lane / 4] = sum;
    }
  }
  __syncthreads();
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = 16 * mt + 8 * half + lane / 4;
      float sum = 0.0F;
#pragma unroll
      for (int w = 0; w < T::kWarps; ++w) sum += tile.sum[w][row];
#pragma unroll
      for (int dt = 0; dt < Tile<T>::kWarpColumns / 8; ++dt) {
        *reinterpret_cast<__half2*>(out + row * T::kHeadDim + warp * Tile<T>::kWarpColumns + 8 * dt + 2 * (lane % 4)) =
            __floats2half2_rn(o[mt][dt][2 * half] / sum, o[mt][dt][2 * half + 1] / sum);
      }
    }
  }
}

template <class T>
__global__ void __launch_bounds__(Tile<T>::kThreads) CrossForward(const Call call) {
  extern __shared__ __align__(1024) unsigned char shared[];
  Tile<T>& tile = *reinterpret_cast<Tile<T>*>(shared);
  constexpr int kBlockM = Tile<T>::kBlockM;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row_blocks = call.seqlen / kBlockM;
  const int head = static_cast<int>(blockIdx.x) / row_blocks;
  const int row0 = static_cast<int>(blockIdx.x) % row_blocks * kBlockM;
  const std::int64_t offset = static_cast<std::int64_t>(head) * call.seqlen * T::kHeadDim;
  const int end = T::kCausal ? row0 + kBlockM : call.seqlen;
  Scores<T> scores;
  Output<T> o = {};
  PerRow<T> row_max;
  PerRow<T> row_sum = {};
  PerRow<T> correction;
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) row_max[mt][0] = row_max[mt][1] = -Infinity();
  load_q<T>(tile, call.q + offset + row0 * T::kHeadDim);
  for (int key0 = 0; key0 < end; key0 += T::kKeys) {
    const std::int64_t from = offset + static_cast<std::int64_t>(key0) * T::kHeadDim;
    load_kv<T>(tile, call.k + from, call.v + from);
    sync();
    qk<T>(scores, tile, warp, lane);
    softmax<T>(scores, tile, row0, key0, warp, lane);
    sync(0);
    softmax<T>(scores, tile, row_max, row_sum, correction, call.scale * kLog2E, warp, lane);
    rescale<T>(o, correction);
    sync(1);
    pv<T>(o, tile, warp, lane);
    sync(2);
  }
  epilogue<T>(call.o + offset + row0 * T::kHeadDim, o, tile, row_sum, warp, lane);
}

template <class T>
int Cross::Launch(const Arguments& args) {
  return Start(CrossForward<T>, args, args.seqlen / Tile<T>::kBlockM * args.batch * args.num_heads, Tile<T>::kThreads,
               static_cast<int>(sizeof(Tile<T>)));
}

}  // namespace cross
}  // namespace
}  // namespace phase_variants
