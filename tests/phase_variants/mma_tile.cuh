// What a variant of the family Mma can change, and the sizes, places and fragments that follow.
#pragma once

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
  static std::size_t WorkspaceBytes(const Arguments& args);
  template <class T>
  static int Launch(const Arguments& args);
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

}  // namespace
}  // namespace phase_variants
