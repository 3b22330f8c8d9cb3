// A family of forward kernels on mma.sync. A variant derives from Mma and changes what it differs in.
//
// A block owns kBlockM query rows of one head and walks over the keys in tiles of kSplits * kKeys. Warp w of split s
// owns rows [w * 16 * kMTiles, ...) of the block and keys [s * kKeys, ...) of each tile.
#pragma once

#include <type_traits>

#include "parts.cuh"

namespace phase_variants {
namespace {

enum class Copy { kAsync1, kAsync2, kRegisters, kPrefetch, kDirect };  // stages; through registers; no shared memory
enum class Queries { kGlobal, kStaged, kShared };  // registers from global memory or through shared; read for each tile
enum class Scale { kFolded, kOnQ, kSeparate };
enum class Rescale { kEach, kLazy, kChanged, kNone };
enum class Loop { kPlain, kOverlapped, kTwoPass, kPeeled };

struct Mma {
  static constexpr int kHeadDim = 64;
  static constexpr bool kCausal = false;
  static constexpr int kWarps = 4;
  static constexpr int kMTiles = 1;
  static constexpr int kKeys = 64;
  static constexpr int kSplits = 1;
  static constexpr int kGridSplits = 1;  // blocks that share a row block's keys
  static constexpr int kMinBlocks = 1;
  static constexpr bool kPersistent = false;
  static constexpr bool kBounds = false;  // a tile may go past the last key
  static constexpr bool kPadded = false;  // rows padded by 16 bytes, else chunks exchanged by XOR
  static constexpr bool kLdmatrix = true;
  static constexpr int kMmaDepth = 16;
  static constexpr bool kBf16Qk = false;
  static constexpr bool kPShared = false;
  static constexpr bool kRotary = false;
  static constexpr bool kRotaryTable = true;
  static constexpr bool kGrouped = false;
  static constexpr bool kSharedReduction = false;  // row maxima through shared memory
  static constexpr bool kSumEachTile = false;
  static constexpr bool kSharedEpilogue = false;
  static constexpr int kQkUnroll = 64;
  static constexpr int kPvUnroll = 64;
  static constexpr Copy kCopy = Copy::kAsync2;
  static constexpr Queries kQueries = Queries::kGlobal;
  static constexpr Exp kExp = Exp::kEx2;
  static constexpr Scale kScale = Scale::kFolded;
  static constexpr Rescale kRescale = Rescale::kEach;
  static constexpr Loop kLoop = Loop::kPlain;

  template <class T>
  static std::size_t WorkspaceBytes(const fa_profile_attention_args& args);
  template <class T>
  static int Launch(const fa_profile_attention_args& args);
};

template <class T>
struct Of {
  static constexpr int kRows = 16 * T::kMTiles;  // of a warp
  static constexpr int kBlockM = kRows * T::kWarps;
  static constexpr int kThreads = 32 * T::kWarps * T::kSplits;
  static constexpr int kBlockN = T::kKeys * T::kSplits;
  static constexpr int kNTiles = T::kKeys / 8;
  static constexpr int kDTiles = T::kHeadDim / 8;
  static constexpr int kChunks = T::kHeadDim / 8;
  static constexpr int kPitch = 2 * T::kHeadDim + (T::kPadded ? 16 : 0);  // bytes
  static constexpr int kStages = T::kCopy == Copy::kAsync2 ? 2 : T::kCopy == Copy::kDirect ? 0 : 1;
  static constexpr int kTileBytes = kBlockN * kPitch;
  static constexpr int kVAt = kStages * kTileBytes;
  static constexpr int kQAt = 2 * kVAt;
  static constexpr int kPAt = kQAt + (T::kQueries == Queries::kGlobal ? 0 : kBlockM * kPitch);
  static constexpr int kPPitch = 2 * T::kKeys + 16;
  static constexpr int kReductionAt = kPAt + (T::kPShared ? kBlockM * T::kSplits * kPPitch : 0);
  static constexpr int kInputBytes = kReductionAt + (T::kSharedReduction ? kBlockM * T::kSplits * 16 : 0);
  static constexpr int kPartialPitch = T::kHeadDim + 8;  // floats
  static constexpr int kPartialBytes = T::kSplits > 1       ? T::kSplits* kBlockM*(kPartialPitch + 2) * 4
                                       : T::kSharedEpilogue ? kBlockM*(2 * T::kHeadDim + 16)
                                                            : 0;
  static constexpr int kBytes = kInputBytes > kPartialBytes ? kInputBytes : kPartialBytes;
  static constexpr int kLoadsPerThread = (kBlockN * kChunks + kThreads - 1) / kThreads;
};

struct Place {
  int lane;
  int warp;  // among those of its split
  int split;
  int row;  // first query row of the warp
  int block_row;
};

template <class T>
using Scores = float[T::kMTiles][T::kKeys / 8][4];
template <class T>
using Output = float[T::kMTiles][T::kHeadDim / 8][4];
template <class T>
using QFragments = std::uint32_t[T::kMTiles][T::kHeadDim / 16][4];
template <class T>
using PFragments = std::uint32_t[T::kMTiles][T::kKeys / 16][4];
template <class T>
using PerRow = float[T::kMTiles][2];
template <class T>
using Staged = uint4[2][T::kCopy == Copy::kPrefetch ? Of<T>::kLoadsPerThread : 1];
/// K and V fragments of a tile, in registers.
template <class T>
struct Direct {
  std::uint32_t k[T::kCopy == Copy::kDirect ? T::kKeys / 8 : 1][T::kHeadDim / 16][2];
  std::uint32_t v[T::kCopy == Copy::kDirect ? T::kKeys / 16 : 1][T::kHeadDim / 8][2];
};

template <class T>
__device__ __forceinline__ std::uint32_t At(std::uint32_t tile, int row, int chunk) {
  if constexpr (T::kPadded) return tile + static_cast<unsigned>(row * Of<T>::kPitch + chunk * 16);
  return tile + static_cast<unsigned>(row * Of<T>::kPitch + ((chunk ^ (row & 7)) << 4));
}

/// (cos - 1, sin) by position and pair: zeros, so that attention stays what the reference computes.
__device__ float2 rotary_table[4096 * 64];

template <class T>
__device__ __forceinline__ std::uint32_t Rotate(std::uint32_t pair, int row, int column, float theta) {
  float cosine;
  float sine;
  if constexpr (T::kRotaryTable) {
    const float2 entry = rotary_table[row * (T::kHeadDim / 2) + column / 2];
    cosine = 1.0F + entry.x;
    sine = entry.y;
  } else {
    const float frequency = exp2f(static_cast<float>(column) * (-13.287712F / T::kHeadDim));
    __sincosf(static_cast<float>(row) * frequency * theta, &sine, &cosine);
  }
  const float2 x = __half22float2(Pair(pair));
  return Pack(x.x * cosine - x.y * sine, x.x * sine + x.y * cosine);
}

template <class T>
__device__ __forceinline__ std::uint32_t PrepareQ(std::uint32_t pair, int row, int column, const Call& call) {
  if constexpr (T::kRotary) pair = Rotate<T>(pair, row, column, call.theta);
  if constexpr (T::kScale == Scale::kOnQ) {
    pair = Bits(__hmul2(Pair(pair), __float2half2_rn(call.scale * (kIsBase2<T::kExp> ? kLog2E : 1.0F))));
  }
  if constexpr (T::kBf16Qk) pair = ToBf16(pair);
  return pair;
}

template <class T>
__device__ __forceinline__ uint4 PrepareK(uint4 chunk, int row, int column, const Call& call) {
  std::uint32_t words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (T::kRotary) words[i] = Rotate<T>(words[i], row, column + 2 * i, call.theta);
    if constexpr (T::kBf16Qk) words[i] = ToBf16(words[i]);
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

/// Q of the warp's rows as fragments, from global memory.
template <class T>
__device__ __forceinline__ void load_q(QFragments<T>& q, const __half* q_head, const Place& place, const Call& call) {
  const int g = place.lane / 4;
  const int t = place.lane % 4;
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int kk = 0; kk < T::kHeadDim / 16; ++kk) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = place.row + 16 * mt + g + 8 * (i % 2);
        const int column = 16 * kk + 2 * t + 8 * (i / 2);
        const std::uint32_t pair =
            __ldg(reinterpret_cast<const unsigned*>(q_head + static_cast<std::int64_t>(row) * T::kHeadDim + column));
        q[mt][kk][i] = PrepareQ<T>(pair, row, column, call);
      }
    }
  }
}

/// Q of the block into shared memory.
template <class T>
__device__ __forceinline__ void load_q(std::uint32_t q_tile, const __half* q_head, const Place& place,
                                       const Call& call) {
  for (int i = static_cast<int>(threadIdx.x); i < Of<T>::kBlockM * Of<T>::kChunks; i += Of<T>::kThreads) {
    const int row = i / Of<T>::kChunks;
    const int chunk = i % Of<T>::kChunks;
    const __half* from = q_head + static_cast<std::int64_t>(place.block_row + row) * T::kHeadDim + 8 * chunk;
    const std::uint32_t to = At<T>(q_tile, row, chunk);
    if constexpr (T::kRotary || T::kScale == Scale::kOnQ || T::kBf16Qk) {
      const uint4 raw = __ldg(reinterpret_cast<const uint4*>(from));
      const std::uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        StoreShared32(to + 4 * w, PrepareQ<T>(words[w], place.block_row + row, 8 * chunk + 2 * w, call));
      }
    } else {
      CopyAsync16(to, from);
    }
  }
}

template <class T>
__device__ __forceinline__ void ReadQ(std::uint32_t (&a)[4], std::uint32_t q_tile, int mt, int kk, const Place& place) {
  const int first = place.warp * Of<T>::kRows + 16 * mt;
  if constexpr (T::kLdmatrix) {
    LoadMatrix(a, At<T>(q_tile, first + (place.lane & 15), 2 * kk + (place.lane >> 4)));
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      a[i] = LoadShared32(At<T>(q_tile, first + place.lane / 4 + 8 * (i % 2), 2 * kk + i / 2) + 4 * (place.lane % 4));
    }
  }
}

/// Fragments of Q from its tile in shared memory.
template <class T>
__device__ __forceinline__ void load_q(QFragments<T>& q, std::uint32_t q_tile, const Place& place) {
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int kk = 0; kk < T::kHeadDim / 16; ++kk) ReadQ<T>(q[mt][kk], q_tile, mt, kk, place);
  }
}

/// Tiles of K and V for keys [key0, key0 + kBlockN), by asynchronous copies or through registers.
template <class T>
__device__ __forceinline__ void load_kv(std::uint32_t k_tile, std::uint32_t v_tile, const __half* k_head,
                                        const __half* v_head, int key0, int end, const Call& call) {
#pragma unroll
  for (int pass = 0; pass < Of<T>::kLoadsPerThread; ++pass) {
    const int i = pass * Of<T>::kThreads + static_cast<int>(threadIdx.x);
    if ((Of<T>::kBlockN * Of<T>::kChunks) % Of<T>::kThreads != 0 && i >= Of<T>::kBlockN * Of<T>::kChunks) break;
    const int row = i / Of<T>::kChunks;
    const int chunk = i % Of<T>::kChunks;
    const bool valid = !T::kBounds || key0 + row < end;
    const std::int64_t from = valid ? static_cast<std::int64_t>(key0 + row) * T::kHeadDim + 8 * chunk : 0;
    const std::uint32_t k_to = At<T>(k_tile, row, chunk);
    const std::uint32_t v_to = At<T>(v_tile, row, chunk);
    if constexpr (T::kCopy == Copy::kRegisters) {
      uint4 k = make_uint4(0U, 0U, 0U, 0U);
      uint4 v = k;
      if (valid) {
        k = PrepareK<T>(__ldg(reinterpret_cast<const uint4*>(k_head + from)), key0 + row, 8 * chunk, call);
        v = __ldg(reinterpret_cast<const uint4*>(v_head + from));
      }
      *reinterpret_cast<uint4*>(__cvta_shared_to_generic(k_to)) = k;
      *reinterpret_cast<uint4*>(__cvta_shared_to_generic(v_to)) = v;
    } else if constexpr (T::kBounds) {
      CopyAsync16(k_to, k_head + from, valid);
      CopyAsync16(v_to, v_head + from, valid);
    } else {
      CopyAsync16(k_to, k_head + from);
      CopyAsync16(v_to, v_head + from);
    }
  }
}

/// The next tile into registers, and from there into shared memory once the tile before is done with.
template <class T>
__device__ __forceinline__ void load_kv(Staged<T>& staged, const __half* k_head, const __half* v_head, int key0) {
#pragma unroll
  for (int pass = 0; pass < Of<T>::kLoadsPerThread; ++pass) {
    const int i = pass * Of<T>::kThreads + static_cast<int>(threadIdx.x);
    const std::int64_t from = static_cast<std::int64_t>(key0) * T::kHeadDim + 8 * i;
    staged[0][pass] = __ldg(reinterpret_cast<const uint4*>(k_head + from));
    staged[1][pass] = __ldg(reinterpret_cast<const uint4*>(v_head + from));
  }
}
template <class T>
__device__ __forceinline__ void load_kv(const Staged<T>& staged, std::uint32_t k_tile, std::uint32_t v_tile) {
#pragma unroll
  for (int pass = 0; pass < Of<T>::kLoadsPerThread; ++pass) {
    const int i = pass * Of<T>::kThreads + static_cast<int>(threadIdx.x);
    const int row = i / Of<T>::kChunks;
    const int chunk = i % Of<T>::kChunks;
    *reinterpret_cast<uint4*>(__cvta_shared_to_generic(At<T>(k_tile, row, chunk))) = staged[0][pass];
    *reinterpret_cast<uint4*>(__cvta_shared_to_generic(At<T>(v_tile, row, chunk))) = staged[1][pass];
  }
}

/// The fragments of a tile straight from global memory.
template <class T>
__device__ __forceinline__ void load_kv(Direct<T>& tile, const __half* k_head, const __half* v_head, int key0,
                                        const Place& place) {
  const int g = place.lane / 4;
  const int t = place.lane % 4;
#pragma unroll
  for (int nt = 0; nt < T::kKeys / 8; ++nt) {
    const __half* from = k_head + static_cast<std::int64_t>(key0 + 8 * nt + g) * T::kHeadDim + 2 * t;
#pragma unroll
    for (int kk = 0; kk < T::kHeadDim / 16; ++kk) {
      tile.k[nt][kk][0] = __ldg(reinterpret_cast<const unsigned*>(from + 16 * kk));
      tile.k[nt][kk][1] = __ldg(reinterpret_cast<const unsigned*>(from + 16 * kk + 8));
    }
  }
#pragma unroll
  for (int kk = 0; kk < T::kKeys / 16; ++kk) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const __half* from = v_head + static_cast<std::int64_t>(key0 + 16 * kk + 8 * half + 2 * t) * T::kHeadDim + g;
#pragma unroll
      for (int dt = 0; dt < T::kHeadDim / 8; ++dt) {
        tile.v[kk][dt][half] = Bits(__halves2half2(__ldg(from + 8 * dt), __ldg(from + T::kHeadDim + 8 * dt)));
      }
    }
  }
}

/// What was copied by the block is there.
__device__ __forceinline__ void sync() {
  CommitCopies();
  WaitCopies<0>();
  __syncthreads();
}

/// The block is done with a tile.
__device__ __forceinline__ void sync(const Place&) { __syncthreads(); }

template <class T>
__device__ __forceinline__ void Product(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                        std::uint32_t b1) {
  if constexpr (T::kMmaDepth == 8) {
    Mma8(c, a, b0, b1);
  } else {
    Mma16(c, a, b0, b1);
  }
}

/// scores = Q x K^T of the split's keys; K: rows of its tile.
template <class T>
__device__ __forceinline__ void qk(Scores<T>& scores, const QFragments<T>& q, std::uint32_t q_tile,
                                   std::uint32_t k_tile, const Direct<T>& direct, const Place& place) {
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int nt = 0; nt < T::kKeys / 8; ++nt) {
#pragma unroll
      for (int i = 0; i < 4; ++i) scores[mt][nt][i] = 0.0F;
    }
  }
  constexpr int kUnroll = T::kQkUnroll;
#pragma unroll kUnroll
  for (int kk = 0; kk < T::kHeadDim / 16; ++kk) {
    std::uint32_t a[T::kMTiles][4];
#pragma unroll
    for (int mt = 0; mt < T::kMTiles; ++mt) {
      if constexpr (T::kQueries == Queries::kShared) {
        ReadQ<T>(a[mt], q_tile, mt, kk, place);
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) a[mt][i] = q[mt][kk][i];
      }
    }
#pragma unroll
    for (int np = 0; np < T::kKeys / 16; ++np) {
      std::uint32_t b[4];  // keys 0-7 at the two halves of the depth, then keys 8-15
      if constexpr (T::kCopy == Copy::kDirect) {
#pragma unroll
        for (int i = 0; i < 4; ++i) b[i] = direct.k[2 * np + i / 2][kk][i % 2];
      } else if constexpr (T::kLdmatrix) {
        const int row = place.split * T::kKeys + 16 * np + (place.lane & 7) + ((place.lane >> 4) << 3);
        LoadMatrix(b, At<T>(k_tile, row, 2 * kk + ((place.lane >> 3) & 1)));
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int row = place.split * T::kKeys + 16 * np + 8 * (i / 2) + place.lane / 4;
          b[i] = LoadShared32(At<T>(k_tile, row, 2 * kk + i % 2) + 4 * (place.lane % 4));
        }
      }
#pragma unroll
      for (int mt = 0; mt < T::kMTiles; ++mt) {
        if constexpr (T::kBf16Qk) {
          MmaBf16(scores[mt][2 * np], a[mt], b[0], b[1]);
          MmaBf16(scores[mt][2 * np + 1], a[mt], b[2], b[3]);
        } else {
          Product<T>(scores[mt][2 * np], a[mt], b[0], b[1]);
          Product<T>(scores[mt][2 * np + 1], a[mt], b[2], b[3]);
        }
      }
    }
  }
}

/// The largest of a row's values, which the four lanes of a quad hold.
template <class T>
__device__ __forceinline__ float QuadMax(float max, int row, std::uint32_t reduction, const Place& place) {
  if constexpr (T::kSharedReduction) {
    const std::uint32_t at =
        reduction + static_cast<unsigned>((place.split * Of<T>::kBlockM + place.warp * Of<T>::kRows + row) * 16);
    __syncwarp();
    StoreShared32(at + 4 * (place.lane % 4), __float_as_uint(max));
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 4; ++i) max = fmaxf(max, __uint_as_float(LoadShared32(at + 4 * i)));
  } else {
    max = fmaxf(max, __shfl_xor_sync(kAll, max, 1));
    max = fmaxf(max, __shfl_xor_sync(kAll, max, 2));
  }
  return max;
}

template <class T>
__device__ __forceinline__ void Mask(Scores<T>& scores, int key0, const Place& place, const Call& call) {
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int nt = 0; nt < T::kKeys / 8; ++nt) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = place.row + 16 * mt + place.lane / 4 + 8 * (i / 2);
        const int key = key0 + 8 * nt + 2 * (place.lane % 4) + i % 2;
        if ((T::kCausal && key > row) || (T::kBounds && key >= call.seqlen)) scores[mt][nt][i] = -Infinity();
      }
    }
  }
}

/// Row maxima of the scores, without anything else: the first pass of two.
template <class T>
__device__ __forceinline__ void softmax(Scores<T>& scores, PerRow<T>& row_max, const Place& place) {
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int nt = 0; nt < T::kKeys / 8; ++nt) {
        row_max[mt][half] = fmaxf(row_max[mt][half], fmaxf(scores[mt][nt][2 * half], scores[mt][nt][2 * half + 1]));
      }
      row_max[mt][half] = QuadMax<T>(row_max[mt][half], 0, 0U, place);
    }
  }
}

/// Scores to probabilities. `grown` tells whether the output must be rescaled.
template <class T, bool kMask>
__device__ __forceinline__ void softmax(PFragments<T>& p, std::uint32_t p_tile, Scores<T>& scores, PerRow<T>& row_max,
                                        PerRow<T>& row_sum, PerRow<T>& correction, bool& grown, int key0,
                                        std::uint32_t reduction, const Place& place, const Call& call) {
  constexpr Exp kExp = T::kExp;
  const float factor = call.scale * (kIsBase2<kExp> ? kLog2E : 1.0F);
  if constexpr (kMask) {
    if (key0 + T::kKeys > (T::kCausal ? place.row + 1 : call.seqlen)) Mask<T>(scores, key0, place, call);
  }
  if constexpr (T::kScale == Scale::kSeparate) {
#pragma unroll
    for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
      for (int nt = 0; nt < T::kKeys / 8; ++nt) {
#pragma unroll
        for (int i = 0; i < 4; ++i) scores[mt][nt][i] *= factor;
      }
    }
  }
  const float c = T::kScale == Scale::kFolded ? factor : 1.0F;
  grown = false;
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float max = T::kRescale == Rescale::kNone ? 0.0F : row_max[mt][half];
      if constexpr (T::kRescale != Rescale::kNone && T::kLoop != Loop::kTwoPass) {
#pragma unroll
        for (int nt = 0; nt < T::kKeys / 8; ++nt) {
          max = fmaxf(max, fmaxf(scores[mt][nt][2 * half], scores[mt][nt][2 * half + 1]));
        }
        max = QuadMax<T>(max, 16 * mt + 8 * half + place.lane / 4, reduction, place);
        if constexpr (T::kRescale == Rescale::kLazy) {
          if ((max - row_max[mt][half]) * c <= 8.0F) max = row_max[mt][half];
        }
        grown = grown || max > row_max[mt][half];
      }
      const float shift = kMask && max == -Infinity() ? 0.0F : max * c;
      if constexpr (T::kRescale != Rescale::kNone && T::kLoop != Loop::kTwoPass) {
        correction[mt][half] = Exponential<kExp>(row_max[mt][half] * c - shift);
        row_max[mt][half] = max;
        row_sum[mt][half] *= correction[mt][half];
      }
      float sum = 0.0F;
#pragma unroll
      for (int nt = 0; nt < T::kKeys / 8; ++nt) {
        const float x0 = scores[mt][nt][2 * half] * c - shift;
        const float x1 = scores[mt][nt][2 * half + 1] * c - shift;
        std::uint32_t packed;
        if constexpr (kExp == Exp::kHalf2) {
          packed = Ex2Half2(x0, x1);
          const float2 both = __half22float2(Pair(packed));
          sum += both.x + both.y;
        } else {
          const float p0 = Exponential<kExp>(x0, 0);
          const float p1 = Exponential<kExp>(x1, 1);
          sum += p0 + p1;
          packed = Pack(p0, p1);
        }
        if constexpr (T::kPShared) {
          const int row = 16 * mt + 8 * half + place.lane / 4;
          StoreShared32(p_tile + static_cast<unsigned>(row * Of<T>::kPPitch + 16 * nt + 4 * (place.lane % 4)), packed);
        } else {
          p[mt][nt / 2][half + 2 * (nt % 2)] = packed;
        }
      }
      if constexpr (T::kSumEachTile) {
        sum += __shfl_xor_sync(kAll, sum, 1);
        sum += __shfl_xor_sync(kAll, sum, 2);
      }
      row_sum[mt][half] += sum;
    }
  }
  if constexpr (T::kRescale == Rescale::kLazy || T::kRescale == Rescale::kChanged) grown = __any_sync(kAll, grown);
  if constexpr (T::kPShared) __syncwarp();
}

template <class T>
__device__ __forceinline__ void rescale(Output<T>& o, const PerRow<T>& correction, bool grown) {
  if constexpr (T::kRescale == Rescale::kNone || T::kLoop == Loop::kTwoPass) return;
  if constexpr (T::kRescale == Rescale::kLazy || T::kRescale == Rescale::kChanged) {
    if (!grown) return;
  }
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int dt = 0; dt < T::kHeadDim / 8; ++dt) {
#pragma unroll
      for (int i = 0; i < 4; ++i) o[mt][dt][i] *= correction[mt][i / 2];
    }
  }
}

/// o += P x V of the split's keys.
template <class T>
__device__ __forceinline__ void pv(Output<T>& o, const PFragments<T>& p, std::uint32_t p_tile, std::uint32_t v_tile,
                                   const Direct<T>& direct, const Place& place) {
  constexpr int kUnroll = T::kPvUnroll;
#pragma unroll kUnroll
  for (int kk = 0; kk < T::kKeys / 16; ++kk) {
    std::uint32_t a[T::kMTiles][4];
#pragma unroll
    for (int mt = 0; mt < T::kMTiles; ++mt) {
      if constexpr (T::kPShared) {
        LoadMatrix(a[mt], p_tile + static_cast<unsigned>((16 * mt + (place.lane & 15)) * Of<T>::kPPitch + 32 * kk +
                                                         16 * (place.lane >> 4)));
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) a[mt][i] = p[mt][kk][i];
      }
    }
    const int first = place.split * T::kKeys + 16 * kk;
#pragma unroll
    for (int dp = 0; dp < T::kHeadDim / 16; ++dp) {
      std::uint32_t b[4];
      if constexpr (T::kCopy == Copy::kDirect) {
#pragma unroll
        for (int i = 0; i < 4; ++i) b[i] = direct.v[kk][2 * dp + i / 2][i % 2];
      } else if constexpr (T::kLdmatrix) {
        LoadMatrixTransposed(b, At<T>(v_tile, first + (place.lane & 15), 2 * dp + (place.lane >> 4)));
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int row = first + 8 * (i % 2) + 2 * (place.lane % 4);
          const std::uint32_t low = LoadShared16(At<T>(v_tile, row, 2 * dp + i / 2) + 2 * (place.lane / 4));
          const std::uint32_t high = LoadShared16(At<T>(v_tile, row + 1, 2 * dp + i / 2) + 2 * (place.lane / 4));
          b[i] = low | (high << 16);
        }
      }
#pragma unroll
      for (int mt = 0; mt < T::kMTiles; ++mt) {
        Product<T>(o[mt][2 * dp], a[mt], b[0], b[1]);
        Product<T>(o[mt][2 * dp + 1], a[mt], b[2], b[3]);
      }
    }
  }
  if constexpr (T::kPShared) __syncwarp();
}

__device__ __forceinline__ float QuadSum(float x) {
  x += __shfl_xor_sync(kAll, x, 1);
  return x + __shfl_xor_sync(kAll, x, 2);
}

/// Divides by the sums and writes the warp's rows.
template <class T>
__device__ __forceinline__ void epilogue(__half* o_head, const Output<T>& o, const PerRow<T>& row_sum,
                                         unsigned char* shared, const Place& place) {
  constexpr int kRowHalves = T::kHeadDim + 8;
  __half* const room = reinterpret_cast<__half*>(shared) + place.warp * Of<T>::kRows * kRowHalves;
  if constexpr (T::kSharedEpilogue) __syncthreads();
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float inverse = 1.0F / (T::kSumEachTile ? row_sum[mt][half] : QuadSum(row_sum[mt][half]));
      const int row = 16 * mt + 8 * half + place.lane / 4;
      __half* const to = T::kSharedEpilogue ? room + row * kRowHalves
                                            : o_head + static_cast<std::int64_t>(place.row + row) * T::kHeadDim;
#pragma unroll
      for (int dt = 0; dt < T::kHeadDim / 8; ++dt) {
        *reinterpret_cast<__half2*>(to + 8 * dt + 2 * (place.lane % 4)) =
            __floats2half2_rn(o[mt][dt][2 * half] * inverse, o[mt][dt][2 * half + 1] * inverse);
      }
    }
  }
  if constexpr (T::kSharedEpilogue) {
    __syncwarp();
#pragma unroll
    for (int i = place.lane; i < Of<T>::kRows * Of<T>::kChunks; i += 32) {
      const int row = i / Of<T>::kChunks;
      const int column = 8 * (i % Of<T>::kChunks);
      *reinterpret_cast<uint4*>(o_head + static_cast<std::int64_t>(place.row + row) * T::kHeadDim + column) =
          *reinterpret_cast<const uint4*>(room + row * kRowHalves + column);
    }
  }
}

/// Adds up the splits of the block through shared memory.
template <class T>
__device__ __forceinline__ void epilogue(__half* o_head, const Output<T>& o, const PerRow<T>& row_max,
                                         const PerRow<T>& row_sum, float c, unsigned char* shared, const Place& place) {
  float* const partial = reinterpret_cast<float*>(shared);
  float* const maxima = partial + T::kSplits * Of<T>::kBlockM * Of<T>::kPartialPitch;
  float* const sums = maxima + T::kSplits * Of<T>::kBlockM;
  __syncthreads();
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int slot = place.split * Of<T>::kBlockM + place.warp * Of<T>::kRows + 16 * mt + 8 * half + place.lane / 4;
      const float sum = QuadSum(row_sum[mt][half]);
      maxima[slot] = row_max[mt][half] * c;
      sums[slot] = sum;
#pragma unroll
      for (int dt = 0; dt < T::kHeadDim / 8; ++dt) {
        *reinterpret_cast<float2*>(partial + slot * Of<T>::kPartialPitch + 8 * dt + 2 * (place.lane % 4)) =
            make_float2(o[mt][dt][2 * half], o[mt][dt][2 * half + 1]);
      }
    }
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < Of<T>::kBlockM * T::kHeadDim / 2; i += Of<T>::kThreads) {
    const int row = i / (T::kHeadDim / 2);
    const int column = 2 * (i % (T::kHeadDim / 2));
    float max = -Infinity();
#pragma unroll
    for (int s = 0; s < T::kSplits; ++s) max = fmaxf(max, maxima[s * Of<T>::kBlockM + row]);
    float sum = 0.0F;
    float2 total = make_float2(0.0F, 0.0F);
#pragma unroll
    for (int s = 0; s < T::kSplits; ++s) {
      const float weight = Ex2(maxima[s * Of<T>::kBlockM + row] - max);
      const float2 part =
          *reinterpret_cast<const float2*>(partial + (s * Of<T>::kBlockM + row) * Of<T>::kPartialPitch + column);
      sum += sums[s * Of<T>::kBlockM + row] * weight;
      total.x += part.x * weight;
      total.y += part.y * weight;
    }
    *reinterpret_cast<__half2*>(o_head + static_cast<std::int64_t>(place.block_row + row) * T::kHeadDim + column) =
        __floats2half2_rn(total.x / sum, total.y / sum);
  }
}

/// Adds up the blocks that share a row block: the last one to finish does it. Workspace: a counter for each row block,
/// then (row blocks, grid splits, kBlockM) rows of kHeadDim outputs, a maximum and a sum.
template <class T>
__device__ __forceinline__ void epilogue(__half* o_head, const Output<T>& o, const PerRow<T>& row_max,
                                         const PerRow<T>& row_sum, float c, float* workspace, int row_block,
                                         int row_blocks, int part, const Place& place) {
  constexpr int kPitch = T::kHeadDim + 2;
  unsigned* const counter = reinterpret_cast<unsigned*>(workspace) + row_block;
  float* const rows =
      workspace + row_blocks + static_cast<std::int64_t>(row_block) * T::kGridSplits * Of<T>::kBlockM * kPitch;
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = place.warp * Of<T>::kRows + 16 * mt + 8 * half + place.lane / 4;
      float* const to = rows + (part * Of<T>::kBlockM + row) * kPitch;
      const float sum = QuadSum(row_sum[mt][half]);
#pragma unroll
      for (int dt = 0; dt < T::kHeadDim / 8; ++dt) {
        to[8 * dt + 2 * (place.lane % 4)] = o[mt][dt][2 * half];
        to[8 * dt + 2 * (place.lane % 4) + 1] = o[mt][dt][2 * half + 1];
      }
      to[T::kHeadDim] = row_max[mt][half] * c;
      to[T::kHeadDim + 1] = sum;
    }
  }
  __threadfence();
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(counter, 1U) == T::kGridSplits - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  for (int i = static_cast<int>(threadIdx.x); i < Of<T>::kBlockM * T::kHeadDim; i += Of<T>::kThreads) {
    const int row = i / T::kHeadDim;
    const int column = i % T::kHeadDim;
    float max = -Infinity();
#pragma unroll
    for (int s = 0; s < T::kGridSplits; ++s) {
      max = fmaxf(max, __ldcg(rows + (s * Of<T>::kBlockM + row) * kPitch + T::kHeadDim));
    }
    float sum = 0.0F;
    float total = 0.0F;
#pragma unroll
    for (int s = 0; s < T::kGridSplits; ++s) {
      const float* const from = rows + (s * Of<T>::kBlockM + row) * kPitch;
      const float weight = Ex2(__ldcg(from + T::kHeadDim) - max);
      sum += __ldcg(from + T::kHeadDim + 1) * weight;
      total += __ldcg(from + column) * weight;
    }
    o_head[static_cast<std::int64_t>(place.block_row + row) * T::kHeadDim + column] = __float2half(total / sum);
  }
}

template <class T>
__device__ __forceinline__ void Clear(Output<T>& o, PerRow<T>& row_max, PerRow<T>& row_sum) {
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int dt = 0; dt < T::kHeadDim / 8; ++dt) {
#pragma unroll
      for (int i = 0; i < 4; ++i) o[mt][dt][i] = 0.0F;
    }
    row_max[mt][0] = row_max[mt][1] = -Infinity();
    row_sum[mt][0] = row_sum[mt][1] = 0.0F;
  }
}

/// One row block of one head; `part` of its keys.
template <class T>
__device__ __forceinline__ void Attend(const Call& call, unsigned char* shared, int row_block, int part) {
  using O = Of<T>;
  constexpr bool kMask = T::kCausal || T::kBounds;
  const int row_blocks = call.seqlen / O::kBlockM;
  const int head = row_block / row_blocks;
  const int block_row = row_block % row_blocks * O::kBlockM;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const Place place{static_cast<int>(threadIdx.x) % 32, warp % T::kWarps, warp / T::kWarps,
                    block_row + warp % T::kWarps * O::kRows, block_row};
  const std::int64_t offset = static_cast<std::int64_t>(head) * call.seqlen * T::kHeadDim;
  const std::int64_t kv_offset =
      T::kGrouped ? static_cast<std::int64_t>(head / call.group) * call.seqlen * T::kHeadDim : offset;
  const __half* const k_head = call.k + kv_offset;
  const __half* const v_head = call.v + kv_offset;
  const int all_keys = T::kCausal ? block_row + O::kBlockM : call.seqlen;
  const int first_key = part * (call.seqlen / T::kGridSplits);
  const int end = T::kGridSplits > 1 ? first_key + call.seqlen / T::kGridSplits : all_keys;

  const std::uint32_t base = Shared(shared);
  const std::uint32_t q_tile = base + O::kQAt;
  const std::uint32_t p_tile =
      base + O::kPAt + static_cast<unsigned>((place.split * T::kWarps + place.warp) * O::kRows * O::kPPitch);
  const std::uint32_t reduction = base + O::kReductionAt;
  const auto k_stage = [&](int stage) {
    return base + static_cast<unsigned>(stage % (O::kStages > 0 ? O::kStages : 1) * O::kTileBytes);
  };
  const auto v_stage = [&](int stage) { return k_stage(stage) + O::kVAt; };

  QFragments<T> q;
  if constexpr (T::kQueries == Queries::kGlobal) {
    load_q<T>(q, call.q + offset, place, call);
  } else {
    load_q<T>(q_tile, call.q + offset, place, call);
    if constexpr (T::kQueries == Queries::kStaged) {
      sync();
      load_q<T>(q, q_tile, place);
    }
  }

  Output<T> o;
  PerRow<T> row_max;
  PerRow<T> row_sum;
  PerRow<T> correction;
  Direct<T> direct;
  Scores<T> scores;
  PFragments<T> p;
  bool grown = false;
  Clear<T>(o, row_max, row_sum);
  const int split_key = place.split * T::kKeys;

  if constexpr (T::kLoop == Loop::kTwoPass) {
    for (int key0 = first_key; key0 < end; key0 += O::kBlockN) {
      load_kv<T>(k_stage(0), v_stage(0), k_head, v_head, key0, end, call);
      sync();
      qk<T>(scores, q, q_tile, k_stage(0), direct, place);
      if constexpr (kMask) Mask<T>(scores, key0 + split_key, place, call);
      softmax<T>(scores, row_max, place);
      sync(place);
    }
  }
  if constexpr (T::kLoop == Loop::kOverlapped) {
    const int tiles = (end - first_key + O::kBlockN - 1) / O::kBlockN;
    load_kv<T>(k_stage(0), v_stage(0), k_head, v_head, first_key, end, call);
    if (tiles > 1) load_kv<T>(k_stage(1), v_stage(1), k_head, v_head, first_key + O::kBlockN, end, call);
    sync();
    qk<T>(scores, q, q_tile, k_stage(0), direct, place);
    softmax<T, kMask>(p, p_tile, scores, row_max, row_sum, correction, grown, first_key, reduction, place, call);
    for (int tile = 0; tile < tiles; ++tile) {
      const int next_key = first_key + (tile + 1) * O::kBlockN;
      if (tile + 1 < tiles) qk<T>(scores, q, q_tile, k_stage(tile + 1), direct, place);
      pv<T>(o, p, p_tile, v_stage(tile), direct, place);
      if (tile + 1 < tiles) {
        softmax<T, kMask>(p, p_tile, scores, row_max, row_sum, correction, grown, next_key, reduction, place, call);
        rescale<T>(o, correction, grown);
      }
      sync(place);
      if (tile + 2 < tiles) {
        load_kv<T>(k_stage(tile), v_stage(tile), k_head, v_head, next_key + O::kBlockN, end, call);
      }
      sync();
    }
  } else if constexpr (T::kCopy == Copy::kAsync2) {
    load_kv<T>(k_stage(0), v_stage(0), k_head, v_head, first_key, end, call);
    int tile = 0;
    const auto step = [&](auto masked, int key0) __attribute__((always_inline)) {
      sync();
      if (key0 + O::kBlockN < end) {
        load_kv<T>(k_stage(tile + 1), v_stage(tile + 1), k_head, v_head, key0 + O::kBlockN, end, call);
      }
      qk<T>(scores, q, q_tile, k_stage(tile), direct, place);
      softmax<T, decltype(masked)::value>(p, p_tile, scores, row_max, row_sum, correction, grown, key0 + split_key,
                                          reduction, place, call);
      rescale<T>(o, correction, grown);
      pv<T>(o, p, p_tile, v_stage(tile), direct, place);
      ++tile;
    };
    if constexpr (T::kLoop == Loop::kPeeled) {
      int key0 = first_key;
#pragma unroll 1
      for (; key0 + O::kBlockN <= block_row; key0 += O::kBlockN) step(std::false_type{}, key0);
#pragma unroll 1
      for (; key0 < end; key0 += O::kBlockN) step(std::true_type{}, key0);
    } else {
      for (int key0 = first_key; key0 < end; key0 += O::kBlockN) step(std::bool_constant<kMask>{}, key0);
    }
  } else {
    Staged<T> staged;
    if constexpr (T::kCopy == Copy::kPrefetch) load_kv<T>(staged, k_head, v_head, first_key);
    for (int key0 = first_key; key0 < end; key0 += O::kBlockN) {
      if constexpr (T::kCopy == Copy::kDirect) {
        load_kv<T>(direct, k_head, v_head, key0 + split_key, place);
      } else if constexpr (T::kCopy == Copy::kPrefetch) {
        load_kv<T>(staged, k_stage(0), v_stage(0));
        sync(place);
        if (key0 + O::kBlockN < end) load_kv<T>(staged, k_head, v_head, key0 + O::kBlockN);
      } else {
        load_kv<T>(k_stage(0), v_stage(0), k_head, v_head, key0, end, call);
        if constexpr (T::kCopy == Copy::kAsync1 || T::kQueries == Queries::kShared) {
          sync();
        } else {
          sync(place);
        }
      }
      qk<T>(scores, q, q_tile, k_stage(0), direct, place);
      softmax<T, kMask>(p, p_tile, scores, row_max, row_sum, correction, grown, key0 + split_key, reduction, place,
                        call);
      rescale<T>(o, correction, grown);
      pv<T>(o, p, p_tile, v_stage(0), direct, place);
      if constexpr (T::kCopy != Copy::kDirect) sync(place);
    }
  }

  const float c = T::kScale == Scale::kFolded ? call.scale * kLog2E : 1.0F;
  if constexpr (T::kGridSplits > 1) {
    epilogue<T>(call.o + offset, o, row_max, row_sum, c, call.workspace, row_block, row_blocks * call.heads, part,
                place);
  } else if constexpr (T::kSplits > 1) {
    epilogue<T>(call.o + offset, o, row_max, row_sum, c, shared, place);
  } else {
    epilogue<T>(call.o + offset, o, row_sum, shared, place);
  }
}

template <class T>
__global__ void __launch_bounds__(Of<T>::kThreads, T::kMinBlocks) MmaForward(const Call call) {
  extern __shared__ __align__(1024) unsigned char shared[];
  if constexpr (T::kPersistent) {
    const int all = call.seqlen / Of<T>::kBlockM * call.heads;
    for (int row_block = static_cast<int>(blockIdx.x); row_block < all; row_block += static_cast<int>(gridDim.x)) {
      Attend<T>(call, shared, row_block, 0);
      __syncthreads();
    }
  } else {
    Attend<T>(call, shared, static_cast<int>(blockIdx.x) / T::kGridSplits,
              static_cast<int>(blockIdx.x) % T::kGridSplits);
  }
}

template <class T>
int RowBlocks(const fa_profile_attention_args& args) {
  return args.seqlen / Of<T>::kBlockM * args.batch * args.num_heads;
}

template <class T>
std::size_t Mma::WorkspaceBytes(const fa_profile_attention_args& args) {
  if (T::kGridSplits == 1) return 0;
  const std::size_t blocks = static_cast<std::size_t>(RowBlocks<T>(args));
  return 4 * blocks * (1 + std::size_t{T::kGridSplits} * Of<T>::kBlockM * (T::kHeadDim + 2));
}

template <class T>
int Mma::Launch(const fa_profile_attention_args& args) {
  static_assert(T::kQkUnroll > 1 || T::kQueries == Queries::kShared, "Q in registers needs constant indices");
  static_assert(T::kPvUnroll > 4 || T::kPShared, "P in registers needs constant indices");
  static_assert(128 % Of<T>::kBlockM == 0 && (T::kBounds || 128 % Of<T>::kBlockN == 0));
  static_assert(T::kSplits == 1 || T::kScale == Scale::kFolded);
  constexpr int kPersistentBlocks = 48;
  const int blocks = RowBlocks<T>(args) * T::kGridSplits;
  if (T::kGridSplits > 1) {
    const cudaError_t cleared = cudaMemsetAsync(args.workspace, 0, 4 * static_cast<std::size_t>(RowBlocks<T>(args)),
                                                static_cast<cudaStream_t>(args.stream));
    if (cleared != cudaSuccess) return static_cast<int>(cleared);
  }
  return Start(MmaForward<T>, args, T::kPersistent && blocks > kPersistentBlocks ? kPersistentBlocks : blocks,
               Of<T>::kThreads, Of<T>::kBytes);
}

}  // namespace
}  // namespace phase_variants
