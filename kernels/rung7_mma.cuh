// Rung 7: FlashAttention-2 on mma.sync. Scores, probabilities and the accumulator stay in registers; shared memory
// holds K and V, swizzled (and Q where registers are short), and in the end the partial outputs of warps that share a
// row.
//
// A block owns kBlockM query rows of one (batch, head) and walks over the keys in tiles of kBlockN = kSplits * kWarpN.
// Its warps form a grid of kRowWarps x kSplits: warp (r, s) owns rows [r * kRowsPerWarp, + kRowsPerWarp) of the block
// and keys [s * kWarpN, + kWarpN) of every tile, with a separate softmax; the epilogue merges the kSplits partial
// results. The kRowWarps warps of one split load their own keys and wait for no other warp, so splits drift apart and
// one's exponentials overlap another's products.
//
// A header, because tests/kernel_libs and tests/phase_truth build variants of this kernel: see Place.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "rung.h"
#include "sm80.cuh"

namespace fa_profile {
namespace {

using sm80::SharedAddress;

/// What every phase knows: the call, and the thread's position.
///
/// It is also how tests vary the kernel. A test's Tile names another Place, derived from this one, and the test writes
/// its own version of a phase for that Place: the kernel then calls the test's version, as the better match.
struct Place {
  const AttentionParams& params;
  int lane;
  int warp_row;  // first query row of its warp
  int split;     // its warp's part of every tile's keys
};

/// Operands that are copied into shared memory tile by tile.
enum Operand { kK, kV };

/// Shape of a block. All of it is known to the compiler: arrays indexed by it stay in registers.
template <int kHeadDimArg, int kRowWarpsArg, int kRowsPerWarpArg, int kSplitsArg, int kWarpNArg, int kBlocksPerSmArg,
          bool kQInRegistersArg>
struct Tile {
  using Place = fa_profile::Place;

  static constexpr int kHeadDim = kHeadDimArg;
  static constexpr int kRowWarps = kRowWarpsArg;
  static constexpr int kRowsPerWarp = kRowsPerWarpArg;
  static constexpr int kSplits = kSplitsArg;
  static constexpr int kWarpN = kWarpNArg;
  static constexpr int kBlocksPerSm = kBlocksPerSmArg;  // caps the registers: 65536 / (kThreads * kBlocksPerSm)
  static constexpr bool kQInRegisters = kQInRegistersArg;

  static constexpr int kBlockM = kRowWarps * kRowsPerWarp;
  static constexpr int kBlockN = kSplits * kWarpN;
  static constexpr int kSplitThreads = 32 * kRowWarps;
  static constexpr int kThreads = kSplitThreads * kSplits;

  static constexpr int kMTiles = kRowsPerWarp / 16;  // mma tiles along a warp's rows
  static constexpr int kNTiles = kWarpN / 8;         // ... along its keys
  static constexpr int kDTiles = kHeadDim / 8;       // ... along the head dimension of O

  static constexpr int kRowBytes = 2 * kHeadDim;  // 128 or 256: every row starts at bank 0, hence the swizzle
  static constexpr int kChunks = kRowBytes / 16;  // 16-byte chunks of a row

  // 16-byte chunk c of row r is stored at chunk c ^ (r & kSwizzle): the 8 rows that one ldmatrix phase reads at equal c
  // are then in 8 different groups of 4 banks.
  static constexpr int kSwizzle = 7;
  static constexpr int kVSwizzle = kSwizzle;

  // One tile of K and one of V, one stage each: K of the next tile arrives during pv, V of this one during qk and
  // softmax. A second stage was measured: no faster, and it halves the keys that a warp can take at once.
  static constexpr int kTileBytes = kBlockN * kRowBytes;
  static constexpr int kInputBytes = 2 * kTileBytes + (kQInRegisters ? 0 : kBlockM * kRowBytes);

  // fp32 rows of the epilogue: 8 floats of padding put the four rows that half a warp stores to 8 banks apart.
  static constexpr int kPartialStride = kHeadDim + 8;
  static constexpr int kPartialBytes = kSplits * kBlockM * (kPartialStride + 2) * 4;
  static constexpr int kSharedBytes = kInputBytes > kPartialBytes ? kInputBytes : kPartialBytes;

  static_assert(kHeadDim % 16 == 0 && kRowsPerWarp % 16 == 0 && kWarpN % 16 == 0);
  static_assert((kWarpN * kChunks) % kSplitThreads == 0, "every thread copies the same number of chunks");
  static_assert((kBlockM * kHeadDim / 4) % kThreads == 0, "every thread stores the same number of outputs");
  static_assert(kQInRegisters || kSplits == 1, "one split copies Q");
  static_assert(kSharedBytes <= 99 * 1024, "what a block gets on sm_89");
};

template <class T>
using QFragments = std::uint32_t[T::kMTiles][T::kHeadDim / 16][4];  // (kRowsPerWarp, kHeadDim) fp16
template <class T>
using Scores = float[T::kMTiles][T::kNTiles][4];  // (kRowsPerWarp, kWarpN) fp32
template <class T>
using PFragments = std::uint32_t[T::kMTiles][T::kWarpN / 16][4];  // (kRowsPerWarp, kWarpN) fp16
template <class T>
using Accumulator = float[T::kMTiles][T::kDTiles][4];  // (kRowsPerWarp, kHeadDim) fp32
template <class T>
using PerRow = float[T::kMTiles][2];  // rows g and g + 8 of each mma tile, g = lane / 4

/// Starts the copy of rows [row0, row0 + kRows) of `head` (seqlen, kHeadDim) into `tile` by the kSplitThreads threads
/// of a split. Past `end` zeros are written (0 * garbage could be NaN).
template <class T, int kRows, int kSwizzle>
__device__ __forceinline__ void CopyRows(std::uint32_t tile, const __half* head, int row0, int end) {
  constexpr int kRowsPerPass = T::kSplitThreads / T::kChunks;
  const int thread = static_cast<int>(threadIdx.x) % T::kSplitThreads;
  const int chunk = thread % T::kChunks;
  const int first = thread / T::kChunks;
  const __half* from = head + static_cast<std::int64_t>(row0 + first) * T::kHeadDim + 8 * chunk;
#pragma unroll
  for (int pass = 0; pass < kRows / kRowsPerPass; ++pass) {
    const int row = first + pass * kRowsPerPass;
    const bool valid = row0 + row < end;
    sm80::CopyAsync16(tile + static_cast<unsigned>(row * T::kRowBytes + ((chunk ^ (row & kSwizzle)) << 4)),
                      valid ? from + pass * kRowsPerPass * T::kHeadDim : head, valid);
  }
}

/// Q of the block, rows past the end as 0; q_head is (seqlen, kHeadDim). Into registers straight from global memory:
/// each value goes to kSplits warps once, so shared memory would save nothing. Or into q_tile (kBlockM, kHeadDim), when
/// the fragments would take the registers that scores need: qk then reads them again for every tile.
template <class T>
__device__ __forceinline__ void load_q(QFragments<T>& q, std::uint32_t q_tile, const __half* q_head, int block_row,
                                       int seqlen, const Place& place) {
  if constexpr (!T::kQInRegisters) {
    CopyRows<T, T::kBlockM, T::kSwizzle>(q_tile, q_head, block_row, seqlen);
  } else {
#pragma unroll
    for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = place.warp_row + 16 * mt + 8 * half + place.lane / 4;
        const bool valid = row < seqlen;
        const __half* from = q_head + static_cast<std::int64_t>(row) * T::kHeadDim + 2 * (place.lane % 4);
#pragma unroll
        for (int kk = 0; kk < T::kHeadDim / 16; ++kk) {
#pragma unroll
          for (int hi = 0; hi < 2; ++hi) {
            q[mt][kk][half + 2 * hi] =
                valid ? __ldg(reinterpret_cast<const unsigned int*>(from + 16 * kk + 8 * hi)) : 0U;
          }
        }
      }
    }
  }
}

/// Starts the copy of this split's keys, [key0, key0 + kWarpN) of `head`, K or V, into its rows of a tile. Copies
/// nothing if all of them are past `key_end`: no warp will read them.
template <class T, Operand kOperand>
__device__ __forceinline__ void load_kv(std::uint32_t rows, const __half* head, int key0, int key_end, const Place&) {
  constexpr int kSwizzle = kOperand == kV ? T::kVSwizzle : T::kSwizzle;
  if (key0 < key_end) CopyRows<T, T::kWarpN, kSwizzle>(rows, head, key0, key_end);
}

/// Waits for this thread's copies of kOperand, then for the other warps of its split: everything that they copied has
/// arrived, and what they read before is no longer needed, so that the next copy may take its place.
template <class T, Operand kOperand>
__device__ __forceinline__ void sync(const Place& place) {
  sm80::CommitCopies();
  sm80::WaitCopies<0>();
  if constexpr (T::kSplits == 1) {
    __syncthreads();
  } else {
    sm80::Barrier<T::kSplitThreads>(1 + place.split);
  }
}

/// scores (kRowsPerWarp, kWarpN) = Q (kRowsPerWarp, kHeadDim) x K^T, K: `rows` (kWarpN, kHeadDim). Not yet scaled. Q:
/// q, or if it is not kept in registers this warp's rows of the tile in shared memory, which are
/// q_rows (kRowsPerWarp, kHeadDim).
template <class T>
__device__ __forceinline__ void qk(Scores<T>& scores, const QFragments<T>& q, std::uint32_t q_rows, std::uint32_t rows,
                                   const Place& place) {
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int nt = 0; nt < T::kNTiles; ++nt) {
#pragma unroll
      for (int i = 0; i < 4; ++i) scores[mt][nt][i] = 0.0F;
    }
  }
  // One ldmatrix loads 16 keys x 16 of the head dimension: lanes 0-7 and 8-15 address the two 8-wide halves of keys
  // 0-7, lanes 16-31 those of keys 8-15.
  const int row = (place.lane & 7) + ((place.lane >> 4) << 3);
  const int swizzle = ((place.lane >> 3) & 1) ^ (place.lane & T::kSwizzle);
  const std::uint32_t from = rows + static_cast<unsigned>(row * T::kRowBytes);
  // 16 rows of Q x 16 of the head dimension: lanes 0-15 address the first 8 columns, lanes 16-31 the second 8.
  const std::uint32_t q_from = q_rows + static_cast<unsigned>((place.lane & 15) * T::kRowBytes);
  const int q_swizzle = (place.lane >> 4) ^ (place.lane & T::kSwizzle);
#pragma unroll
  for (int kk = 0; kk < T::kHeadDim / 16; ++kk) {
    std::uint32_t a[T::kMTiles][4];
#pragma unroll
    for (int mt = 0; mt < T::kMTiles; ++mt) {
      if constexpr (T::kQInRegisters) {
#pragma unroll
        for (int i = 0; i < 4; ++i) a[mt][i] = q[mt][kk][i];
      } else {
        sm80::LoadMatrix(a[mt], q_from + static_cast<unsigned>(16 * mt * T::kRowBytes + (((2 * kk) ^ q_swizzle) << 4)));
      }
    }
    const std::uint32_t column = from + static_cast<unsigned>(((2 * kk) ^ swizzle) << 4);
#pragma unroll
    for (int np = 0; np < T::kNTiles / 2; ++np) {
      std::uint32_t b[4];
      sm80::LoadMatrix(b, column + np * 16 * T::kRowBytes);
#pragma unroll
      for (int mt = 0; mt < T::kMTiles; ++mt) {
        sm80::Mma(scores[mt][2 * np], a[mt], b[0], b[1]);
        sm80::Mma(scores[mt][2 * np + 1], a[mt], b[2], b[3]);
      }
    }
  }
}

/// Online softmax of this warp's scores, keys [key0, key0 + kWarpN): masks, raises row_max, turns scores into
/// probabilities p (fp16, already in the layout mma wants of its A operand), adds them to row_sum (this lane's columns
/// only) and leaves in `correction` the factor of everything summed before.
/// exp(scale * (s - max)) = 2^(s * c - max * c), c = scale * log2(e): one FFMA and one MUFU a score.
template <class T>
__device__ __forceinline__ void softmax(PFragments<T>& p, Scores<T>& scores, PerRow<T>& row_max, PerRow<T>& row_sum,
                                        PerRow<T>& correction, float c, int key0, const Place& place) {
  // Only a tile on the diagonal or at the end has something to mask; the test is the same for all lanes.
  if (key0 + T::kWarpN > sm80::KeyEnd(place.warp_row, place.params)) {
#pragma unroll
    for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = place.warp_row + 16 * mt + 8 * half + place.lane / 4;
        const int left = sm80::KeyEnd(row, place.params) - key0 - 2 * (place.lane % 4);
#pragma unroll
        for (int nt = 0; nt < T::kNTiles; ++nt) {
          if (8 * nt >= left) scores[mt][nt][2 * half] = sm80::MinusInfinity();
          if (8 * nt + 1 >= left) scores[mt][nt][2 * half + 1] = sm80::MinusInfinity();
        }
      }
    }
  }
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float max = row_max[mt][half];
#pragma unroll
      for (int nt = 0; nt < T::kNTiles; ++nt) {
        max = fmaxf(max, fmaxf(scores[mt][nt][2 * half], scores[mt][nt][2 * half + 1]));
      }
      // The four lanes of a quad hold one row between them.
      max = fmaxf(max, __shfl_xor_sync(0xffffffffU, max, 1));
      max = fmaxf(max, __shfl_xor_sync(0xffffffffU, max, 2));
      // No key yet: subtract 0 instead of -infinity, so that masked scores give 2^-infinity = 0 and not NaN.
      const float shift = max == sm80::MinusInfinity() ? 0.0F : max * c;
      correction[mt][half] = sm80::Exp2(row_max[mt][half] * c - shift);
      row_max[mt][half] = max;
      float sum = row_sum[mt][half] * correction[mt][half];
#pragma unroll
      for (int nt = 0; nt < T::kNTiles; ++nt) {
        const float p0 = sm80::Exp2(scores[mt][nt][2 * half] * c - shift);
        const float p1 = sm80::Exp2(scores[mt][nt][2 * half + 1] * c - shift);
        sum += p0 + p1;
        p[mt][nt / 2][half + 2 * (nt % 2)] = sm80::PackHalf2(p0, p1);
      }
      row_sum[mt][half] = sum;
    }
  }
}

/// o (kRowsPerWarp, kHeadDim) *= correction: rescales sums made under the old maximum.
template <class T>
__device__ __forceinline__ void rescale(Accumulator<T>& o, const PerRow<T>& correction, const Place&) {
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int dt = 0; dt < T::kDTiles; ++dt) {
#pragma unroll
      for (int i = 0; i < 4; ++i) o[mt][dt][i] *= correction[mt][i / 2];
    }
  }
}

/// o (kRowsPerWarp, kHeadDim) += P (kRowsPerWarp, kWarpN) x V, V: `rows` (kWarpN, kHeadDim).
template <class T>
__device__ __forceinline__ void pv(Accumulator<T>& o, const PFragments<T>& p, std::uint32_t rows, const Place& place) {
  // One transposing ldmatrix loads 16 keys x 16 of the head dimension: lanes 0-15 address the first 8 columns of keys
  // 0-15, lanes 16-31 the second 8.
  const int swizzle = (place.lane >> 4) ^ (place.lane & T::kVSwizzle);
  const std::uint32_t from = rows + static_cast<unsigned>((place.lane & 15) * T::kRowBytes);
#pragma unroll
  for (int kk = 0; kk < T::kWarpN / 16; ++kk) {
#pragma unroll
    for (int dp = 0; dp < T::kDTiles / 2; ++dp) {
      std::uint32_t b[4];
      const std::uint32_t column = from + static_cast<unsigned>(((2 * dp) ^ swizzle) << 4);
      sm80::LoadMatrixTransposed(b, column + kk * 16 * T::kRowBytes);
#pragma unroll
      for (int mt = 0; mt < T::kMTiles; ++mt) {
        sm80::Mma(o[mt][2 * dp], p[mt][kk], b[0], b[1]);
        sm80::Mma(o[mt][2 * dp + 1], p[mt][kk], b[2], b[3]);
      }
    }
  }
}

/// Merges the kSplits partial results of each row, divides by the sum and writes o_head (seqlen, kHeadDim), rows
/// [block_row, block_row + kBlockM). `shared` is the tiles' space: partial outputs (kSplits, kBlockM, kPartialStride)
/// fp32, then maxima (times c) and sums (kSplits, kBlockM) each. Goes through shared memory even if kSplits is 1: a
/// lane holds two columns, and whole rows make whole sectors.
template <class T>
__device__ __forceinline__ void epilogue(__half* o_head, float* shared, const Accumulator<T>& o,
                                         const PerRow<T>& row_max, const PerRow<T>& row_sum, float c, int block_row,
                                         int seqlen, const Place& place) {
  float* maxima = shared + T::kSplits * T::kBlockM * T::kPartialStride;
  float* sums = maxima + T::kSplits * T::kBlockM;
  __syncthreads();  // every warp is done with the last tile
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int slot = place.split * T::kBlockM + place.warp_row - block_row + 16 * mt + 8 * half + place.lane / 4;
      float sum = row_sum[mt][half];
      sum += __shfl_xor_sync(0xffffffffU, sum, 1);
      sum += __shfl_xor_sync(0xffffffffU, sum, 2);
      if (place.lane % 4 == 0) {
        maxima[slot] = row_max[mt][half] * c;
        sums[slot] = sum;
      }
      float* to = shared + slot * T::kPartialStride + 2 * (place.lane % 4);
#pragma unroll
      for (int dt = 0; dt < T::kDTiles; ++dt) {
        *reinterpret_cast<float2*>(to + 8 * dt) = make_float2(o[mt][dt][2 * half], o[mt][dt][2 * half + 1]);
      }
    }
  }
  __syncthreads();
  constexpr int kLanesPerRow = T::kHeadDim / 4;
  constexpr int kRowsPerPass = T::kThreads / kLanesPerRow;
  const int column = 4 * (static_cast<int>(threadIdx.x) % kLanesPerRow);
#pragma unroll
  for (int pass = 0; pass < T::kBlockM / kRowsPerPass; ++pass) {
    const int row = pass * kRowsPerPass + static_cast<int>(threadIdx.x) / kLanesPerRow;
    float max = sm80::MinusInfinity();
#pragma unroll
    for (int s = 0; s < T::kSplits; ++s) max = fmaxf(max, maxima[s * T::kBlockM + row]);
    float sum = 0.0F;
    float4 out = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
#pragma unroll
    for (int s = 0; s < T::kSplits; ++s) {
      const float4 o4 = *reinterpret_cast<const float4*>(shared + (s * T::kBlockM + row) * T::kPartialStride + column);
      // Key 0 counts for every row, so max is finite; a split that saw no key has -infinity and weighs 0.
      const float weight = sm80::Exp2(maxima[s * T::kBlockM + row] - max);
      sum += sums[s * T::kBlockM + row] * weight;
      out.x += o4.x * weight;
      out.y += o4.y * weight;
      out.z += o4.z * weight;
      out.w += o4.w * weight;
    }
    const float inverse = 1.0F / sum;
    if (block_row + row < seqlen) {
      uint2 packed;
      packed.x = sm80::PackHalf2(out.x * inverse, out.y * inverse);
      packed.y = sm80::PackHalf2(out.z * inverse, out.w * inverse);
      *reinterpret_cast<uint2*>(o_head + static_cast<std::int64_t>(block_row + row) * T::kHeadDim + column) = packed;
    }
  }
}

template <class T>
__global__ void __launch_bounds__(T::kThreads, T::kBlocksPerSm) MmaForward(const AttentionParams params) {
  extern __shared__ __align__(128) unsigned char shared[];
  const int row_blocks = (params.seqlen + T::kBlockM - 1) / T::kBlockM;
  const int heads = params.batch * params.num_heads;
  const int index = static_cast<int>(blockIdx.x);
  // Head by head, so that active blocks share K and V in L2. With a causal mask the last rows of all heads come first:
  // they have the most keys, and a long block that starts late makes the tail.
  const int head = params.causal ? index % heads : index / row_blocks;
  const int block_row = (params.causal ? row_blocks - 1 - index / heads : index % row_blocks) * T::kBlockM;
  const std::int64_t offset = static_cast<std::int64_t>(head) * params.seqlen * T::kHeadDim;
  const __half* k_head = params.k + offset;  // (seqlen, kHeadDim)
  const __half* v_head = params.v + offset;  // (seqlen, kHeadDim)

  const int warp = static_cast<int>(threadIdx.x) / 32;
  typename T::Place place{params, static_cast<int>(threadIdx.x) % 32, block_row + warp % T::kRowWarps * T::kRowsPerWarp,
                          warp / T::kRowWarps};
  const float c = params.softmax_scale * sm80::kLog2E;
  const int key_end = sm80::KeyEnd(block_row + T::kBlockM - 1, params);
  const int warp_key_end = sm80::KeyEnd(place.warp_row + T::kRowsPerWarp - 1, params);
  const int tiles = (key_end + T::kBlockN - 1) / T::kBlockN;

  const std::uint32_t k_tile = SharedAddress(shared);   // (kBlockN, kHeadDim)
  const std::uint32_t v_tile = k_tile + T::kTileBytes;  // (kBlockN, kHeadDim)
  const std::uint32_t q_tile = v_tile + T::kTileBytes;  // (kBlockM, kHeadDim), unless Q is in registers
  const std::uint32_t q_rows = q_tile + (place.warp_row - block_row) * T::kRowBytes;
  const int first_key = place.split * T::kWarpN;  // within a tile
  const std::uint32_t k_rows = k_tile + first_key * T::kRowBytes;
  const std::uint32_t v_rows = v_tile + first_key * T::kRowBytes;

  load_kv<T, kK>(k_rows, k_head, first_key, key_end, place);
  QFragments<T> q;
  load_q<T>(q, q_tile, params.q + offset, block_row, params.seqlen, place);

  Accumulator<T> o = {};
  PerRow<T> row_max;
  PerRow<T> row_sum = {};
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) row_max[mt][0] = row_max[mt][1] = sm80::MinusInfinity();

  for (int tile = 0; tile < tiles; ++tile) {
    const int key0 = tile * T::kBlockN + first_key;
    const bool sees_keys = key0 < warp_key_end;  // the same for all lanes
    PFragments<T> p;

    sync<T, kK>(place);  // K of this tile has arrived, V of the previous one is no longer needed
    load_kv<T, kV>(v_rows, v_head, key0, key_end, place);
    if (sees_keys) {
      Scores<T> scores;
      PerRow<T> correction;
      qk<T>(scores, q, q_rows, k_rows, place);
      softmax<T>(p, scores, row_max, row_sum, correction, c, key0, place);
      rescale<T>(o, correction, place);  // before the wait for V, not after it
    }
    sync<T, kV>(place);  // V of this tile has arrived, K of this tile is no longer needed
    load_kv<T, kK>(k_rows, k_head, key0 + T::kBlockN, key_end, place);
    if (sees_keys) pv<T>(o, p, v_rows, place);
  }
  epilogue<T>(params.o + offset, reinterpret_cast<float*>(shared), o, row_max, row_sum, c, block_row, params.seqlen,
              place);
}

// Tile<head_dim, row warps, rows a warp, splits, keys a warp, blocks an SM, Q in registers>
//
// Few rows: the time is one block's chain of latencies. 32 rows give 128 blocks at 8 heads x 512 rows; four splits make
// the chain four times shorter, and 8 warps hide part of it (4 warps of 128 keys and 16 of 32 were slower).
using Latency64 = Tile<64, 2, 16, 4, 64, 1, true>;
using Latency128 = Tile<128, 2, 16, 4, 32, 1, true>;
// Many rows: the time is tensor-pipe throughput. 32 rows per warp use every fragment of K and V twice; with 16, reads
// of shared memory, 128 bytes per cycle, would be the limit. Two blocks per SM: one's softmax overlaps the other's
// products. 128 keys: half the barriers, maxima and rescalings of 64 (8 % faster); Q must leave the registers for it.
using Throughput64 = Tile<64, 4, 32, 1, 128, 2, false>;
// The accumulator alone takes 128 registers, and 48 keys is the most that does not spill (32: 8 % slower).
using Throughput128 = Tile<128, 4, 32, 1, 48, 2, false>;

template <class T>
std::int64_t Blocks(const AttentionParams& params) {
  const std::int64_t row_blocks = (static_cast<std::int64_t>(params.seqlen) + T::kBlockM - 1) / T::kBlockM;
  return row_blocks * params.batch * params.num_heads;
}

template <class T>
cudaError_t LaunchTile(const AttentionParams& params, cudaStream_t stream) {
  return sm80::Launch(MmaForward<T>, Blocks<T>(params), T::kThreads, T::kSharedBytes, params, stream);
}

template <class Latency, class Throughput>
cudaError_t LaunchBest(const AttentionParams& params, cudaStream_t stream) {
  int device = 0;
  int sms = 0;
  cudaError_t status = cudaGetDevice(&device);
  if (status == cudaSuccess) status = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  if (status != cudaSuccess) return status;
  // Measured on 132 SMs: a wave of throughput blocks takes about 2.5 times as long as one of the others.
  return Blocks<Latency>(params) <= 2 * sms ? LaunchTile<Latency>(params, stream)
                                            : LaunchTile<Throughput>(params, stream);
}

}  // namespace
}  // namespace fa_profile
