// A family on WMMA: fragments are opaque, so scores and probabilities go through shared memory.
#pragma once

#include <mma.h>

#include "parts.cuh"

namespace phase_variants {
namespace {
namespace wmma_family {

namespace wmma = nvcuda::wmma;

struct Wmma {
  static constexpr int kHeadDim = 64;
  static constexpr bool kCausal = false;
  static constexpr int kWarps = 4;  // of 16 rows each
  static constexpr int kKeys = 32;
  static constexpr int kLanesPerRow = 2;        // in softmax: 2, 4, 8 or 16
  static constexpr bool kFixedMaximum = false;  // no online maximum: O stays in fragments
  static constexpr bool kCopyAsync = true;
  static constexpr bool kQkRolled = false;
  static constexpr bool kPvRolled = false;
  static constexpr Exp kExp = Exp::kEx2;

  template <class T>
  static std::size_t WorkspaceBytes(const Arguments& args) {
    return NoWorkspace(args);
  }
  template <class T>
  static int Launch(const Arguments& args);
};

template <class T>
struct alignas(32) Tile {
  static constexpr int kBlockM = 16 * T::kWarps;
  static constexpr int kThreads = 32 * T::kWarps;
  static constexpr int kPitch = T::kHeadDim + 8;
  static constexpr int kSPitch = T::kKeys + 8;
  static constexpr int kRowsPerPass = 32 / T::kLanesPerRow;
  static constexpr int kPasses = 16 / kRowsPerPass;
  static constexpr int kKeysPerLane = T::kKeys / T::kLanesPerRow;
  alignas(32) __half q[kBlockM][kPitch];
  alignas(32) __half k[T::kKeys][kPitch];
  alignas(32) __half v[T::kKeys][kPitch];
  alignas(32) __half p[kBlockM][kSPitch];
  alignas(32) float s[kBlockM][kSPitch];
  alignas(32) float o[kBlockM][kPitch];
};

template <class T>
using Fragments = wmma::fragment<wmma::accumulator, 16, 16, 16, float>[T::kHeadDim / 16];
template <class T>
using PerPass = float[Tile<T>::kPasses];

template <class T, int kRows>
__device__ __forceinline__ void CopyRows(__half (&to)[kRows][Tile<T>::kPitch], const __half* from) {
  constexpr int kChunks = T::kHeadDim / 8;
#pragma unroll
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kChunks; i += Tile<T>::kThreads) {
    __half* const at = &to[i / kChunks][8 * (i % kChunks)];
    if constexpr (T::kCopyAsync) {
      CopyAsync16(Shared(at), from + 8 * i);
    } else {
      *reinterpret_cast<uint4*>(at) = *reinterpret_cast<const uint4*>(from + 8 * i);
    }
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
template <bool kCopyAsync>
__device__ __forceinline__ void sync() {
  if constexpr (kCopyAsync) {
    CommitCopies();
    WaitCopies<0>();
  }
  __syncthreads();
}

template <class T>
__device__ __forceinline__ void qk(Tile<T>& tile, int row0) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> s[T::kKeys / 16];
#pragma unroll
  for (auto& fragment : s) wmma::fill_fragment(fragment, 0.0F);
  constexpr int kUnroll = T::kQkRolled ? 1 : 16;
#pragma unroll kUnroll
  for (int d = 0; d < T::kHeadDim; d += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::load_matrix_sync(a, &tile.q[row0][d], Tile<T>::kPitch);
#pragma unroll
    for (int n = 0; n < T::kKeys / 16; ++n) {
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
      wmma::load_matrix_sync(b, &tile.k[16 * n][d], Tile<T>::kPitch);
      wmma::mma_sync(s[n], a, b, s[n]);
    }
  }
#pragma unroll
  for (int n = 0; n < T::kKeys / 16; ++n) {
    wmma::store_matrix_sync(&tile.s[row0][16 * n], s[n], Tile<T>::kSPitch, wmma::mem_row_major);
  }
  __syncwarp();
}

template <class T>
__device__ __forceinline__ void softmax(Tile<T>& tile, PerPass<T>& row_max, PerPass<T>& row_sum, PerPass<T>& correction,
                                        float c, int row0, int lane, int query, int key0) {
  constexpr int kMine = Tile<T>::kKeysPerLane;
#pragma unroll
  for (int pass = 0; pass < Tile<T>::kPasses; ++pass) {
    const int row = row0 + pass * Tile<T>::kRowsPerPass + lane / T::kLanesPerRow;
    const int first = lane % T::kLanesPerRow * kMine;
    float max = T::kFixedMaximum ? 0.0F : row_max[pass];
    if constexpr (!T::kFixedMaximum) {
#pragma unroll
      for (int i = 0; i < kMine; ++i) {
        float& score = tile.s[row][first + i];
        if (T::kCausal && key0 + first + i > query + row) score = -Infinity();
        max = fmaxf(max, score);
      }
#pragma unroll
      for (int lanes = 1; lanes < T::kLanesPerRow; lanes *= 2) max = fmaxf(max, __shfl_xor_sync(kAll, max, lanes));
      correction[pass] = Exponential<T::kExp>((row_max[pass] - max) * c);
      row_max[pass] = max;
      row_sum[pass] *= correction[pass];
    }
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      const float p = Exponential<T::kExp>((tile.s[row][first + i] - max) * c, i);
      row_sum[pass] += p;
      tile.p[row][first + i] = __float2half(p);
    }
  }
  __syncwarp();
}

template <class T>
__device__ __forceinline__ void rescale(Tile<T>& tile, const PerPass<T>& correction, int row0, int lane) {
#pragma unroll
  for (int pass = 0; pass < Tile<T>::kPasses; ++pass) {
    float* const row = tile.o[row0 + pass * Tile<T>::kRowsPerPass + lane / T::kLanesPerRow];
#pragma unroll
    for (int d = lane % T::kLanesPerRow; d < T::kHeadDim; d += T::kLanesPerRow) row[d] *= correction[pass];
  }
  __syncwarp();
}

template <class T>
__device__ __forceinline__ void pv(Tile<T>& tile, Fragments<T>& o, int row0) {
  if constexpr (!T::kFixedMaximum) {
#pragma unroll
    for (int n = 0; n < T::kHeadDim / 16; ++n) {
      wmma::load_matrix_sync(o[n], &tile.o[row0][16 * n], Tile<T>::kPitch, wmma::mem_row_major);
    }
  }
  constexpr int kUnroll = T::kPvRolled ? 1 : 16;
#pragma unroll kUnroll
  for (int key = 0; key < T::kKeys; key += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::load_matrix_sync(a, &tile.p[row0][key], Tile<T>::kSPitch);
#pragma unroll
    for (int n = 0; n < T::kHeadDim / 16; ++n) {
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
      wmma::load_matrix_sync(b, &tile.v[key][16 * n], Tile<T>::kPitch);
      wmma::mma_sync(o[n], a, b, o[n]);
    }
  }
  if constexpr (!T::kFixedMaximum) {
#pragma unroll
    for (int n = 0; n < T::kHeadDim / 16; ++n) {
      wmma::store_matrix_sync(&tile.o[row0][16 * n], o[n], Tile<T>::kPitch, wmma::mem_row_major);
    }
  }
  __syncwarp();
}

template <class T>
__device__ __forceinline__ void epilogue(__half* out, Tile<T>& tile, Fragments<T>& o, const PerPass<T>& row_sum,
                                         int row0, int lane) {
  if constexpr (T::kFixedMaximum) {
#pragma unroll
    for (int n = 0; n < T::kHeadDim / 16; ++n) {
      wmma::store_matrix_sync(&tile.o[row0][16 * n], o[n], Tile<T>::kPitch, wmma::mem_row_major);
    }
    __syncwarp();
  }
#pragma unroll
  for (int pass = 0; pass < Tile<T>::kPasses; ++pass) {
    float sum = row_sum[pass];
#pragma unroll
    for (int lanes = 1; lanes < T::kLanesPerRow; lanes *= 2) sum += __shfl_xor_sync(kAll, sum, lanes);
    const int row = row0 + pass * Tile<T>::kRowsPerPass + lane / T::kLanesPerRow;
#pragma unroll
    for (int d = 2 * (lane % T::kLanesPerRow); d < T::kHeadDim; d += 2 * T::kLanesPerRow) {
      *reinterpret_cast<__half2*>(out + row * T::kHeadDim + d) =
          __floats2half2_rn(tile.o[row][d] / sum, tile.o[row][d + 1] / sum);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(Tile<T>::kThreads) WmmaForward(const Call call) {
  extern __shared__ __align__(1024) unsigned char shared[];
  Tile<T>& tile = *reinterpret_cast<Tile<T>*>(shared);
  constexpr int kBlockM = Tile<T>::kBlockM;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row0 = static_cast<int>(threadIdx.x) / 32 * 16;
  const int row_blocks = call.seqlen / kBlockM;
  const int query = static_cast<int>(blockIdx.x) % row_blocks * kBlockM;
  const std::int64_t head = static_cast<std::int64_t>(blockIdx.x) / row_blocks * call.seqlen * T::kHeadDim;
  const int end = T::kCausal ? query + kBlockM : call.seqlen;
  PerPass<T> row_max;
  PerPass<T> row_sum = {};
  PerPass<T> correction;
  Fragments<T> o;
#pragma unroll
  for (float& max : row_max) max = -Infinity();
#pragma unroll
  for (auto& fragment : o) wmma::fill_fragment(fragment, 0.0F);
  load_q<T>(tile, call.q + head + query * T::kHeadDim);
  if constexpr (!T::kFixedMaximum) {
    for (int i = lane; i < 16 * T::kHeadDim; i += 32) tile.o[row0 + i / T::kHeadDim][i % T::kHeadDim] = 0.0F;
  }
  for (int key0 = 0; key0 < end; key0 += T::kKeys) {
    const std::int64_t from = head + static_cast<std::int64_t>(key0) * T::kHeadDim;
    load_kv<T>(tile, call.k + from, call.v + from);
    sync<T::kCopyAsync>();
    qk<T>(tile, row0);
    softmax<T>(tile, row_max, row_sum, correction, call.scale * kLog2E, row0, lane, query, key0);
    if constexpr (!T::kFixedMaximum) rescale<T>(tile, correction, row0, lane);
    pv<T>(tile, o, row0);
    sync<false>();
  }
  epilogue<T>(call.o + head + query * T::kHeadDim, tile, o, row_sum, row0, lane);
}

template <class T>
int Wmma::Launch(const Arguments& args) {
  static_assert(!T::kCausal || !T::kFixedMaximum);
  return Start(WmmaForward<T>, args, args.seqlen / Tile<T>::kBlockM * args.batch * args.num_heads, Tile<T>::kThreads,
               static_cast<int>(sizeof(Tile<T>)));
}

}  // namespace wmma_family
}  // namespace
}  // namespace phase_variants
