#pragma once

#include <cstddef>
#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// A wait for an mbarrier: SYNCS.PHASECHK asks, a branch needs the answer, and a loop asks again. Indices of
/// instructions.
struct MbarrierWait {
  std::size_t question = 0;
  std::size_t branch = 0;  ///< on the answer: here a warp is that waits
  // Where the compiler asks early, with other work before the answer is needed, the loop is elsewhere: behind the
  // kernel's code, mostly. Else question and branch are a part of it.
  std::size_t loop_first = 0;
  std::size_t loop_last = 0;
  bool leaves_by_branch = false;  ///< "@P0 BRA out" and again behind it; false: "@!P0 BRA again"
  bool early() const { return question < loop_first || question > loop_last; }
};

/// Those of a function, by branch. A loop that several early questions lead to is in each of them.
std::vector<MbarrierWait> MbarrierWaits(const DeviceFunction& function);

/// By instruction: whether it belongs to a wait for an mbarrier: SYNCS.PHASECHK and the code between it and the
/// branch on its answer, that branch included; the code before it in a loop that asks again; and a branch into such a
/// loop, where a warp is that asked early.
std::vector<bool> AsyncWaits(const DeviceFunction& function);

}  // namespace fa_profile::analyze
