#pragma once

// Softmax over split keys: each part has its own maximum, sum and output per row, and a block of the cluster merges
// some of the rows. Where the parts lie, for the kernel that splits the keys and for tests/hopper_layout_test.cpp. Not
// yet run on a GPU.

#include <cstdint>

#include "hopper/layout.h"

namespace fa_profile::hopper {

/// What a block receives: kSlots parts (one for each warpgroup of each of the kSplits blocks that share 64 query rows)
/// of kRows rows. Offsets in bytes. A row of outputs is 8 floats longer than the head: the four rows that half a warp
/// stores then begin 8 banks apart.
template <int kHeadDim, int kSplits, int kWarpgroups>
struct MergeLayout {
  static constexpr int kSlots = kSplits * kWarpgroups;
  static constexpr int kRows = kWarpgroupRows / kSplits;
  static constexpr int kStride = kHeadDim + 8;
  static constexpr int kOutputs = kSlots * kRows * kStride;
  static constexpr int kBytes = 4 * (kOutputs + 2 * kSlots * kRows);
  // What arrives of a part: a maximum and a sum for each row, and the outputs if it saw keys.
  static constexpr std::uint32_t kStatisticsBytes = 8 * kRows;
  static constexpr std::uint32_t kOutputBytes = 4 * kHeadDim * kRows;

  static_assert(kWarpgroupRows % kSplits == 0);

  /// Which of the kSplits blocks merges `row` (of 64).
  FA_HOPPER_BOTH static constexpr int OwnerOf(int row) { return row / kRows; }

  FA_HOPPER_BOTH static constexpr std::uint32_t OutputAt(int slot, int row, int column) {
    return 4U * static_cast<std::uint32_t>((slot * kRows + row % kRows) * kStride + column);
  }
  FA_HOPPER_BOTH static constexpr std::uint32_t MaxAt(int slot, int row) {
    return 4U * static_cast<std::uint32_t>(kOutputs + 2 * (slot * kRows + row % kRows));
  }
  FA_HOPPER_BOTH static constexpr std::uint32_t SumAt(int slot, int row) { return MaxAt(slot, row) + 4U; }
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
