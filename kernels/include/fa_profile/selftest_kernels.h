#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fa_profile/selftest.h"
#include "fa_profile/workload.h"

namespace fa_profile {

/// A kernel ready to be measured on the current device, and the expected results.
struct SelftestRun {
  std::unique_ptr<Workload> workload;  ///< one part, one launch per call, no shape
  std::vector<Truth> truths;
};

/// A kernel whose truth is known by construction. Its phases are `__device__ __forceinline__` functions named alpha,
/// beta, gamma and sync (waiting for other warps).
///
/// Shares come from the kernel itself, which reads the clock around every phase, per warp:
/// - "warp_time_share": warp-cycles in the phase, of all warp-cycles; sync: the waiting for other warps.
/// - "work_share": the same without sync in numerator and denominator.
/// - "time_share": wall time of the phase. In kernels with barriers that from one to the next, by the clock of each
///   block's first warp, so that a phase has the waiting for it. Only for kernels whose phases follow one another;
///   where roles overlap it has no single meaning.
/// So do cycles of waits for mbarriers ("mbarrier_cycles"): the mean of one warp's wait.
/// What a kernel's name says of its shares is what was aimed at; the truth is what the clocks said in this process.
struct SelftestKernel {
  std::string id;      ///< "conflict_8"
  std::string proves;  ///< one line
  /// Allocates on the current device, and runs the kernel if the truth has to be clocked. Throws Error.
  std::function<SelftestRun()> make;
};

/// All of them, counting kernels first. Objects live as long as the program. Needs no GPU.
const std::vector<SelftestKernel>& SelftestKernels();

}  // namespace fa_profile
