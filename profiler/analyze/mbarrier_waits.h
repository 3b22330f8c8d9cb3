#pragma once

#include <cstddef>
#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// A wait for an mbarrier: SYNCS.PHASECHK asks, a branch needs the answer, and a loop asks again. Indices of
/// instructions.
struct MbarrierWait {
  std::size_t question = 0;
  std::size_t branch = 0;  ///< the branch on the answer, where a waiting warp is found
  // If the compiler asks early, with other work before the answer is needed, the loop is elsewhere: usually after the
  // kernel's code. Otherwise question and branch are part of it.
  std::size_t loop_first = 0;
  std::size_t loop_last = 0;
  bool leaves_by_branch = false;  ///< "@P0 BRA out" and the loop follows it; false: "@!P0 BRA again"
  bool early() const { return question < loop_first || question > loop_last; }
};

/// The waits in a function, by branch. A loop that several early questions lead to is in each of them.
std::vector<MbarrierWait> MbarrierWaits(const DeviceFunction& function);

/// By instruction: whether it belongs to a wait for an mbarrier: SYNCS.PHASECHK and the code between it and the branch
/// on its answer, including that branch; the code before it in a loop that asks again; and a branch into such a loop,
/// where a warp that asked early is found.
std::vector<bool> AsyncWaits(const DeviceFunction& function);

}  // namespace fa_profile::analyze
