#pragma once

// Softmax over split keys: each part has its own maximum, sum and output per row. Where the parts lie while they are
// merged, for the kernel that splits the keys and for tests/hopper_layout_test.cpp.

#include <cstdint>

#include "hopper/layout.h"

namespace fa_profile::hopper {

/// First the kWarpgroups of a block exchange what they found: each finishes its share of the columns. Then the kSplits
/// blocks that share 64 query rows do: each finishes the rows of kWarps warps of every warpgroup. A thread always sends
/// to the thread of the same lane, vectors of four floats: what is at elements 4 v to 4 v + 3 of its accumulator.
/// Offsets in bytes.
template <int kHeadDim, int kSplits, int kWarpgroups>
struct MergeLayout {
  static constexpr int kShare = kHeadDim / 2 / kWarpgroups;  // accumulator elements that a thread finishes
  static constexpr int kVectors = kShare / 4;
  static constexpr int kWarps = 4 / kSplits;
  static constexpr int kVectorBytes = 16;
  static constexpr int kWarpVectorBytes = 32 * kVectorBytes;  // from a vector to the next, of what another block sent

  static constexpr int kExchanged = kWarpgroups * (kWarpgroups - 1) * kVectors * kWarpgroupThreads * kVectorBytes;
  static constexpr int kStatistics = kWarpgroups * kWarpgroupRows * 8;
  static constexpr int kReceived = (kSplits - 1) * kWarpgroups * kWarps * (kVectors + 1) * 32 * kVectorBytes;
  static constexpr int kBytes = kExchanged + kStatistics + kReceived;

  static_assert(4 % kSplits == 0, "a warp's rows are finished by one block");
  static_assert(kHeadDim / 2 % (4 * kWarpgroups) == 0, "a share is of whole vectors");

  /// Which of the kSplits blocks finishes the rows of warp `warp` (of 4).
  FA_HOPPER_BOTH static constexpr int OwnerOf(int warp) { return warp / kWarps; }

  /// From warpgroup `from` to another one, `to`; `thread` counts within the warpgroup.
  FA_HOPPER_BOTH static constexpr std::uint32_t ExchangedAt(int to, int from, int vector, int thread) {
    const int sender = to * (kWarpgroups - 1) + from - (from > to ? 1 : 0);
    return static_cast<std::uint32_t>(((sender * kVectors + vector) * kWarpgroupThreads + thread) * kVectorBytes);
  }
  /// A row's maximum and sum, as warpgroup `from` has them.
  FA_HOPPER_BOTH static constexpr std::uint32_t StatisticsAt(int from, int row) {
    return static_cast<std::uint32_t>(kExchanged + (from * kWarpgroupRows + row) * 8);
  }
  /// From block `from` to the block `to` that finishes the rows of `warp` of `warpgroup`. Vector kVectors has the
  /// maxima and sums of the lane's two rows.
  FA_HOPPER_BOTH static constexpr std::uint32_t ReceivedAt(int to, int from, int warpgroup, int warp, int vector,
                                                           int lane) {
    const int sender = from - (from > to ? 1 : 0);
    const int receiver = (sender * kWarpgroups + warpgroup) * kWarps + warp % kWarps;
    return static_cast<std::uint32_t>(kExchanged + kStatistics +
                                      ((receiver * (kVectors + 1) + vector) * 32 + lane) * kVectorBytes);
  }
};

/// What a part weighs whose row has the maximum `part_max` (in powers of 2), `max` being that of all parts. A part that
/// saw no key has minus infinity and weighs 0: what it would have sent was not written. `exp2`: 2^x.
template <class Exp2>
FA_HOPPER_BOTH float PartWeight(float part_max, float max, Exp2 exp2) {
  return part_max < -3.0e38F ? 0.0F : exp2(part_max - max);
}

/// Ranks of the blocks that work on the keys of `split`, as a mask: split, split + splits, ...
FA_HOPPER_BOTH constexpr unsigned SharersOf(int split, int splits, int queries) {
  unsigned ranks = 0;
  for (int query = 0; query < queries; ++query) ranks |= 1U << (split + splits * query);
  return ranks;
}

}  // namespace fa_profile::hopper
