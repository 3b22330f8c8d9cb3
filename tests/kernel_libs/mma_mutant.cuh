// Rung 7 with one thing undone or made worse, as a kernel library. The file that includes this sets MUTANT_ID first,
// and the macros below and in mutant.cuh for what is different. Without any of them it is the rung's own code.
#pragma once

#ifndef MUTANT_SERIAL_SOFTMAX
#define MUTANT_SERIAL_SOFTMAX false  // one lane of each warp does the softmax
#endif
#ifndef MUTANT_V_SWIZZLE
#define MUTANT_V_SWIZZLE 7  // bits of the row that V's swizzle takes: 7 no conflicts, 6 two wavefronts for one, 0 eight
#endif
#ifndef MUTANT_PARTIAL_PADDING
#define MUTANT_PARTIAL_PADDING 8  // floats after a row of partial outputs; 24 is as good
#endif

#include "mutant.cuh"
#include "rung7_mma.cuh"

namespace fa_profile {
namespace {
namespace mutant {

constexpr bool kSerialSoftmax = MUTANT_SERIAL_SOFTMAX;

/// A warp's room for the serial softmax: its scores, then its weights, and what it carries from tile to tile.
template <class T>
struct Scratch {
  float scores[T::kRowsPerWarp][T::kWarpN];
  float max[T::kRowsPerWarp];
  float sum[T::kRowsPerWarp];
  float correction[T::kRowsPerWarp];
};

/// Makes the kernel call the phases below instead of the rung's own.
struct Place : fa_profile::Place {
  int count = 0;
};

/// One of the rung's tiles, changed.
template <class Tile, class Id>
struct Mutant : Tile {
  using Place = mutant::Place;
  static constexpr int kVSwizzle = MUTANT_V_SWIZZLE;
  static constexpr int kBlocksPerSm = MUTANT_BLOCKS_PER_SM > 0 ? MUTANT_BLOCKS_PER_SM : Tile::kBlocksPerSm;
  static constexpr int kPartialStride = Tile::kHeadDim + MUTANT_PARTIAL_PADDING;
  static constexpr int kPartialBytes = Tile::kSplits * Tile::kBlockM * (kPartialStride + 2) * 4;
  static_assert(kPartialBytes <= Tile::kSharedBytes);
  static constexpr int kSharedBytes =
      Tile::kSharedBytes + (kChange == Change::shared_line ? 128 : 0) +
      (kSerialSoftmax ? Tile::kThreads / 32 * static_cast<int>(sizeof(Scratch<Tile>)) : 0);
  static constexpr int kScratchAt = Tile::kSharedBytes;
};

template <class T>
__device__ __forceinline__ Scratch<T>& ScratchOfWarp() {
  extern __shared__ __align__(128) unsigned char shared[];
  return reinterpret_cast<Scratch<T>*>(shared + T::kScratchAt)[threadIdx.x / 32];
}

/// The rung's softmax with the same result, by one lane, through shared memory.
template <class T>
__device__ __forceinline__ void SerialSoftmax(PFragments<T>& p, const Scores<T>& scores, PerRow<T>& row_max,
                                              PerRow<T>& row_sum, PerRow<T>& correction, float c, int key0,
                                              const Place& place) {
  Scratch<T>& scratch = ScratchOfWarp<T>();
  const int quad = place.lane % 4;
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int nt = 0; nt < T::kNTiles; ++nt) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        scratch.scores[16 * mt + 8 * (i / 2) + place.lane / 4][8 * nt + 2 * quad + i % 2] = scores[mt][nt][i];
      }
    }
  }
  __syncwarp();
  if (place.lane == 0) {
#pragma unroll 1
    for (int row = 0; row < T::kRowsPerWarp; ++row) {
      float* const line = scratch.scores[row];
      const int visible = min(max(sm80::KeyEnd(place.warp_row + row, place.params) - key0, 0), T::kWarpN);
      const float old_max = scratch.max[row];
      float max = old_max;
#pragma unroll 1
      for (int key = 0; key < visible; ++key) max = fmaxf(max, line[key]);
      const float shift = max == sm80::MinusInfinity() ? 0.0F : max * c;
      const float factor = sm80::Exp2(old_max * c - shift);
      float sum = scratch.sum[row] * factor;
#pragma unroll 1
      for (int key = 0; key < T::kWarpN; ++key) {
        const float weight = key < visible ? sm80::Exp2(line[key] * c - shift) : 0.0F;
        line[key] = weight;
        sum += weight;
      }
      scratch.max[row] = max;
      scratch.sum[row] = sum;
      scratch.correction[row] = factor;
    }
  }
  __syncwarp();
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = 16 * mt + 8 * half + place.lane / 4;
      row_max[mt][half] = scratch.max[row];
      row_sum[mt][half] = quad == 0 ? scratch.sum[row] : 0.0F;  // the epilogue adds the four lanes of a row
      correction[mt][half] = scratch.correction[row];
#pragma unroll
      for (int nt = 0; nt < T::kNTiles; ++nt) {
        const float* const pair = &scratch.scores[row][8 * nt + 2 * quad];
        p[mt][nt / 2][half + 2 * (nt % 2)] = sm80::PackHalf2(pair[0], pair[1]);
      }
    }
  }
  __syncwarp();
}

// The phases. Each calls the rung's own and adds to it: an instruction belongs to the phase that called it.
template <class T, Operand kOperand>
__device__ __forceinline__ void load_kv(std::uint32_t rows, const __half* head, int key0, int key_end, Place& place) {
  fa_profile::load_kv<T, kOperand>(rows, head, key0, key_end, place);
  Count(place.count);
  if constexpr (kOperand == kK) Burn<Phase::load_kv>(place.params);
}

template <class T>
__device__ __forceinline__ void load_q(QFragments<T>& q, std::uint32_t q_tile, const __half* q_head, int block_row,
                                       int seqlen, Place& place) {
  fa_profile::load_q<T>(q, q_tile, q_head, block_row, seqlen, place);
  if constexpr (kSerialSoftmax) {
    Scratch<T>& scratch = ScratchOfWarp<T>();
    for (int row = place.lane; row < T::kRowsPerWarp; row += 32) {
      scratch.max[row] = sm80::MinusInfinity();
      scratch.sum[row] = 0.0F;
    }
    __syncwarp();
  }
  Burn<Phase::load_q>(place.params);
}

template <class T, Operand kOperand>
__device__ __forceinline__ void sync(Place& place) {
  fa_profile::sync<T, kOperand>(place);
  if constexpr (kOperand == kV) {
#pragma unroll
    for (int i = 0; i < MUTANT_EXTRA_BARRIERS; ++i) fa_profile::sync<T, kOperand>(place);
  }
}

template <class T>
__device__ __forceinline__ void qk(Scores<T>& scores, const QFragments<T>& q, std::uint32_t q_rows, std::uint32_t rows,
                                   Place& place) {
  fa_profile::qk<T>(scores, q, q_rows, rows, place);
  Burn<Phase::qk>(place.params);
}

template <class T>
__device__ __forceinline__ void softmax(PFragments<T>& p, Scores<T>& scores, PerRow<T>& row_max, PerRow<T>& row_sum,
                                        PerRow<T>& correction, float c, int key0, Place& place) {
  if constexpr (kSerialSoftmax) {
    SerialSoftmax<T>(p, scores, row_max, row_sum, correction, c, key0, place);
  } else {
    fa_profile::softmax<T>(p, scores, row_max, row_sum, correction, c, key0, place);
  }
  Burn<Phase::softmax>(place.params);
}

template <class T>
__device__ __forceinline__ void rescale(Accumulator<T>& o, const PerRow<T>& correction, Place& place) {
  bool needed = true;
  if constexpr (kChange == Change::lazy_rescale) {
    static_assert(T::kMTiles == 1);
    needed = __any_sync(0xffffffffU, fminf(correction[0][0], correction[0][1]) < 1.0F) != 0;
  }
  if constexpr (kChange == Change::warp_sync) __syncwarp();
  if (needed) fa_profile::rescale<T>(o, correction, place);
  Burn<Phase::rescale>(place.params);
}

template <class T>
__device__ __forceinline__ void pv(Accumulator<T>& o, const PFragments<T>& p, std::uint32_t rows, Place& place) {
  fa_profile::pv<T>(o, p, rows, place);
  Burn<Phase::pv>(place.params);
}

template <class T>
__device__ __forceinline__ void epilogue(__half* o_head, float* shared, const Accumulator<T>& o,
                                         const PerRow<T>& row_max, const PerRow<T>& row_sum, float c, int block_row,
                                         int seqlen, Place& place) {
  if constexpr (kChange == Change::epilogue_sync) __syncthreads();
  fa_profile::epilogue<T>(o_head, shared, o, row_max, row_sum, c, block_row, seqlen, place);
  ReadCount(place.count);
  Burn<Phase::epilogue>(place.params);
}

// As the rung chooses its tile. The serial softmax always takes the smaller one: the larger leaves it no register. A
// mutant of the gate is measured with the smaller one alone.
template <class Latency, class Throughput>
cudaError_t LaunchEither(const AttentionParams& params, cudaStream_t stream) {
  if constexpr (kSerialSoftmax || !kTakes128) {
    return LaunchTile<Mutant<Latency, MUTANT_ID>>(params, stream);
  } else {
    return LaunchBest<Mutant<Latency, MUTANT_ID>, Mutant<Throughput, MUTANT_ID>>(params, stream);
  }
}

cudaError_t Launch(const AttentionParams& params, cudaStream_t stream) {
  if (params.head_dim == 64) return LaunchEither<Latency64, Throughput64>(params, stream);
  if constexpr (kTakes128) return LaunchEither<Latency128, Throughput128>(params, stream);
  return cudaErrorInvalidValue;
}

}  // namespace mutant
}  // namespace
}  // namespace fa_profile
