#pragma once

// Shapes and switches of rung 8's kernels. A configuration derives from Tile and redefines the switches.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "hopper/layout.h"

namespace fa_profile::hopper {

/// A block: kWarpgroups consumer warpgroups of 64 rows each and one producer; tiles of kKeys keys in rings of kStages.
template <int kHeadDimArg, int kWarpgroupsArg, int kKeysArg, int kStagesArg>
struct Tile {
  static constexpr int kHeadDim = kHeadDimArg;
  static constexpr int kWarpgroups = kWarpgroupsArg;
  static constexpr int kKeys = kKeysArg;
  static constexpr int kStages = kStagesArg;
  using Element = __half;

  // The switches; off is the plain version.
  static constexpr bool kOverlap = false;          // QK of the next tile before PV of this one
  static constexpr bool kPingPong = false;         // warpgroups issue their products in turn
  static constexpr bool kLazyRescale = false;      // O is rescaled only when a maximum grows by more than 2^8
  static constexpr int kPolynomialOf16 = 0;        // of 16 exponentials, this many on the FMA pipe
  static constexpr bool kTmaStore = false;         // O through shared memory and TMA
  static constexpr bool kSwizzleO = true;          // its rows there begin at different banks
  static constexpr int kCluster = 1;               // neighbouring row blocks load K and V together, a part each
  static constexpr bool kPersistent = false;       // without a mask: as many blocks as SMs, which take item after item
  static constexpr bool kNarrowItems = true;       // persistent: the remaining rows of each head in items of 64 rows
  static constexpr bool kContinue = false;         // QK of the next item's first tile before the epilogue of this one
  static constexpr bool kSumByProduct = false;     // the sums of P's rows come from PV: V has columns of ones
  static constexpr bool kDependentLaunch = false;  // begins while the previous kernel in the stream ends

  static constexpr int kRows = kWarpgroups * kWarpgroupRows;
  static constexpr int kThreads = (kWarpgroups + 1) * kWarpgroupThreads;
  static constexpr int kSlabs = kHeadDim / kSlabColumns;

  // A block starts with 65536 / kThreads registers per thread, rounded down to a multiple of 8; the producer gives up
  // what the consumers take.
  static constexpr int kProducerRegisters = kWarpgroups == 3 ? 32 : 24;
  static constexpr int kConsumerRegisters = kWarpgroups == 3 ? 160 : 240;

  static constexpr std::uint32_t kQBytes = SlabBytes(kRows) * kSlabs;
  static constexpr std::uint32_t kKvBytes = SlabBytes(kKeys) * kSlabs;
  static constexpr std::uint32_t kWarpgroupOBytes = SlabBytes(kWarpgroupRows) * kSlabs;

  static_assert(kHeadDim == 64 || kHeadDim == 128);
  static_assert(kWarpgroups == 2 || kWarpgroups == 3, "registers are planned for these");
  static_assert(kKeys % kStepDepth == 0 && kKeys <= 256 && kRows <= 256, "a box of TMA has at most 256 rows");
};

/// Columns of PV's product: 8 more with the ones, because a product's columns are a multiple of 8.
template <class T>
inline constexpr int kOutColumns = T::kHeadDim + (T::kSumByProduct ? 8 : 0);

/// A stage of V: the tile, and the slab of ones after it.
template <class T>
inline constexpr std::uint32_t kVStageBytes = T::kKvBytes + (T::kSumByProduct ? SlabBytes(T::kKeys) : 0);

// Bytes from the aligned start of shared memory.
template <class T>
inline constexpr std::uint32_t kQAt = 0;
template <class T>
inline constexpr std::uint32_t kKAt = kQAt<T> + T::kQBytes;
template <class T>
inline constexpr std::uint32_t kVAt = kKAt<T> + (T::kStages * T::kKvBytes);
template <class T>
inline constexpr std::uint32_t kOAt = kVAt<T> + (T::kStages * kVStageBytes<T>);
/// Where a block's barriers are, after its tiles.
template <class T>
inline constexpr std::uint32_t kBarriersAt = kOAt<T> + (T::kTmaStore ? T::kWarpgroups * T::kWarpgroupOBytes : 0);

/// The total for a block: 1 KiB is plenty for the barriers, and one atom is room to align the start.
template <class T>
inline constexpr std::uint32_t kSharedBytes = kBarriersAt<T> + 1024 + kAtomBytes;

/// The same with bf16 tensors.
template <class T>
struct Bf16 : T {
  using Element = __nv_bfloat16;
};

}  // namespace fa_profile::hopper
