#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "mbarrier_waits.h"

namespace fa_profile::analyze {

/// Copies that complete one mbarrier, or one stage in an array of them: indices of instructions, in code order.
using CopyGroup = std::vector<std::size_t>;

struct MbarrierCopies {
  std::vector<CopyGroup> groups;
  /// By wait: the index of its group. Absent: other warps complete its mbarrier, or the copies are not known.
  std::vector<std::optional<std::size_t>> group_of_wait;
};

/// The copies that `waits` are for: TMA's loads (UTMALDG, UBLKCP.S) and those of cp.async (ARRIVES.LDGSTSBAR).
///
/// Mbarriers are distinguished by their places in shared memory: the constant parts of their addresses without scaled
/// indices. A place where other warps arrive (SYNCS.ARRIVE...A1T0) is not known: such an array may be the neighbour
/// whose elements an unrolled loop reaches with constants.
MbarrierCopies CopiesWaitedFor(const DeviceFunction& function, const std::vector<MbarrierWait>& waits);

}  // namespace fa_profile::analyze
