// Rung 5: the regression specimen. Q K^T runs on tensor cores, occupancy looks healthy, and yet one thread of each
// block does the softmax while 127 wait at a barrier, and then half of them compute P V without tensor cores. A report
// that lists occupancy and "uses tensor cores" finds nothing wrong with it.
// Leaving out one phase at a time at 1,8,512,64 on an H200 (571 us) gave: softmax 53 %, P V 40 %, Q K^T under 1 %.
//
// A header, because tests/phase_truth measures variants of this kernel: see SerialSoftmax().
#pragma once

#include <mma.h>

#include "rung.h"

namespace fa_profile {
namespace {

namespace wmma = nvcuda::wmma;

constexpr int kThreads = 128;
constexpr int kWmma = 16;                       // WMMA tiles are 16x16x16
constexpr int kBlockM = kWmma;                  // query rows per block
constexpr int kBlockN = kThreads / 32 * kWmma;  // keys per tile: 16 a warp
constexpr int kPvThreads = 64;
constexpr float kLog2e = 1.4426950408889634F;
// 8 halves of padding turn the row pitch from a multiple of 128 bytes into one that walks through the banks.
constexpr int kPad = 8;

template <int kHeadDimArg>
struct Tile {
  static constexpr int kHeadDim = kHeadDimArg;
  // WMMA wants 32-byte alignment of what it loads and stores.
  alignas(32) __half q[kBlockM][kHeadDim + kPad];
  alignas(32) __half k[kBlockN][kHeadDim + kPad];
  alignas(32) __half v[kBlockN][kHeadDim + kPad];
  alignas(32) float scores[kBlockM][kBlockN];  // then, in place, the weights
  float max[kBlockM];
  float sum[kBlockM];
  float correction[kBlockM];
};

// Copies `rows` rows of kHeadDim from global memory, 16 bytes a thread, and zeros past `valid`.
template <int kHeadDim, int kRows>
__device__ __forceinline__ void LoadRows(__half (&to)[kRows][kHeadDim + kPad], const __half* from, int valid) {
  constexpr int kChunk = sizeof(uint4) / sizeof(__half);
  constexpr int kChunksPerRow = kHeadDim / kChunk;
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kChunksPerRow; i += kThreads) {
    const int row = i / kChunksPerRow;
    const int chunk = i % kChunksPerRow;
    *reinterpret_cast<uint4*>(&to[row][chunk * kChunk]) =
        row < valid ? *reinterpret_cast<const uint4*>(from + row * kHeadDim + chunk * kChunk) : uint4{};
  }
}

template <int kHeadDim>
__device__ __forceinline__ void load_q(Tile<kHeadDim>& tile, const __half* q, int valid) {
  LoadRows<kHeadDim>(tile.q, q, valid);
  if (threadIdx.x < kBlockM) {
    tile.max[threadIdx.x] = -INFINITY;
    tile.sum[threadIdx.x] = 0.0F;
  }
}

template <int kHeadDim>
__device__ __forceinline__ void load_kv(Tile<kHeadDim>& tile, const __half* k, const __half* v, int valid) {
  LoadRows<kHeadDim>(tile.k, k, valid);
  LoadRows<kHeadDim>(tile.v, v, valid);
}

// S (16, 64) = Q (16, head_dim) K^T (head_dim, 64), 16 columns a warp.
template <int kHeadDim>
__device__ __forceinline__ void qk(Tile<kHeadDim>& tile) {
  constexpr int kPitch = kHeadDim + kPad;
  const int first_key = static_cast<int>(threadIdx.x) / 32 * kWmma;
  wmma::fragment<wmma::accumulator, kWmma, kWmma, kWmma, float> s;
  wmma::fill_fragment(s, 0.0F);
#pragma unroll
  for (int d = 0; d < kHeadDim; d += kWmma) {
    wmma::fragment<wmma::matrix_a, kWmma, kWmma, kWmma, __half, wmma::row_major> q;
    wmma::fragment<wmma::matrix_b, kWmma, kWmma, kWmma, __half, wmma::col_major> k;
    wmma::load_matrix_sync(q, &tile.q[0][d], kPitch);
    wmma::load_matrix_sync(k, &tile.k[first_key][d], kPitch);
    wmma::mma_sync(s, q, k, s);
  }
  wmma::store_matrix_sync(&tile.scores[0][first_key], s, kBlockN, wmma::mem_row_major);
}

// One thread, all 16 rows, two scores at a time: what a reduction across the block would share out. `keys` of row 0;
// with `causal` each further row sees one more, up to `valid`.
template <int kHeadDim>
__device__ __forceinline__ void softmax(Tile<kHeadDim>& tile, int keys, int valid, bool causal, float scale) {
  if (threadIdx.x != 0) return;
  for (int row = 0; row < kBlockM; ++row) {
    float* const scores = tile.scores[row];
    const int visible = causal ? min(keys + row, valid) : valid;
    const float old_max = tile.max[row];
    float max = old_max;
#pragma unroll 2
    for (int key = 0; key < visible; ++key) max = fmaxf(max, scores[key] * scale);
    float sum = 0.0F;
#pragma unroll 2
    for (int key = 0; key < visible; ++key) {
      const float weight = exp2f(scores[key] * scale - max);
      scores[key] = weight;
      sum += weight;
    }
    for (int key = visible; key < kBlockN; ++key) scores[key] = 0.0F;
    const float correction = exp2f(old_max - max);
    tile.max[row] = max;
    tile.sum[row] = tile.sum[row] * correction + sum;
    tile.correction[row] = correction;
  }
}

template <int kHeadDim>
__device__ __forceinline__ void rescale(const Tile<kHeadDim>& tile, float (&o)[kHeadDim / kPvThreads][kBlockM]) {
#pragma unroll
  for (int i = 0; i < kHeadDim / kPvThreads; ++i) {
#pragma unroll
    for (int row = 0; row < kBlockM; ++row) o[i][row] *= tile.correction[row];
  }
}

// Half of the block, one output column a thread (two at head_dim 128), one FMA at a time: not unrolled, each waits for
// its two loads from shared memory. (Unrolled by 4, P V takes 27 % of a kernel of 265 us.)
template <int kHeadDim>
__device__ __forceinline__ void pv(const Tile<kHeadDim>& tile, float (&o)[kHeadDim / kPvThreads][kBlockM]) {
#pragma unroll
  for (int i = 0; i < kHeadDim / kPvThreads; ++i) {
#pragma unroll
    for (int row = 0; row < kBlockM; ++row) {
#pragma unroll 1
      for (int key = 0; key < kBlockN; ++key) {
        o[i][row] += tile.scores[row][key] * __half2float(tile.v[key][threadIdx.x + i * kPvThreads]);
      }
    }
  }
}

template <int kHeadDim>
__device__ __forceinline__ void epilogue(const Tile<kHeadDim>& tile, __half* out, int valid,
                                         const float (&o)[kHeadDim / kPvThreads][kBlockM]) {
#pragma unroll
  for (int i = 0; i < kHeadDim / kPvThreads; ++i) {
#pragma unroll
    for (int row = 0; row < kBlockM; ++row) {
      if (row < valid) out[row * kHeadDim + threadIdx.x + i * kPvThreads] = __float2half(o[i][row] / tile.sum[row]);
    }
  }
}

enum WaitsFor { kKeys, kScores, kWeights, kOutput };

/// A barrier of the block: what was written before it is there.
template <WaitsFor kWhat, int kHeadDim>
__device__ __forceinline__ void Barrier(Tile<kHeadDim>&) {
  __syncthreads();
}

/// The kernel. T is a Tile<kHeadDim>, or a test's wrapper around one: the kernel then calls the test's version of each
/// phase, because it fits better.
template <class T>
__device__ __forceinline__ void SerialSoftmax(T& tile, const AttentionParams& p) {
  constexpr int kHeadDim = T::kHeadDim;
  const int tiles = (p.seqlen + kBlockM - 1) / kBlockM;
  const int first_row = static_cast<int>(blockIdx.x % tiles) * kBlockM;
  const int valid_rows = min(kBlockM, p.seqlen - first_row);
  const std::size_t head = static_cast<std::size_t>(blockIdx.x / tiles) * p.seqlen * kHeadDim;
  const std::size_t query = head + static_cast<std::size_t>(first_row) * kHeadDim;
  const int end = p.causal ? first_row + valid_rows : p.seqlen;
  float o[kHeadDim / kPvThreads][kBlockM] = {};

  load_q(tile, p.q + query, valid_rows);
  for (int first_key = 0; first_key < end; first_key += kBlockN) {
    const std::size_t offset = head + static_cast<std::size_t>(first_key) * kHeadDim;
    const int valid_keys = min(kBlockN, p.seqlen - first_key);
    load_kv(tile, p.k + offset, p.v + offset, valid_keys);
    Barrier<kKeys>(tile);
    qk(tile);
    Barrier<kScores>(tile);
    softmax(tile, first_row - first_key + 1, valid_keys, p.causal, p.softmax_scale * kLog2e);
    Barrier<kWeights>(tile);
    if (threadIdx.x < kPvThreads) {
      rescale(tile, o);
      pv(tile, o);
    }
    Barrier<kOutput>(tile);  // before the next tile overwrites K, V and the scores
  }
  if (threadIdx.x < kPvThreads) epilogue(tile, p.o + query, valid_rows, o);
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads) SerialSoftmaxKernel(AttentionParams p) {
  __shared__ Tile<kHeadDim> tile;
  SerialSoftmax(tile, p);
}

inline unsigned Blocks(const AttentionParams& p) {
  const unsigned tiles = (static_cast<unsigned>(p.seqlen) + kBlockM - 1) / kBlockM;
  return static_cast<unsigned>(p.batch) * static_cast<unsigned>(p.num_heads) * tiles;
}

}  // namespace
}  // namespace fa_profile
