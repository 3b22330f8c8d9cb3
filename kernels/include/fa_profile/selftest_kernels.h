#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fa_profile/workload.h"

namespace fa_profile {

/// Where a truth is looked up in what was measured.
enum class TruthSource {
  kSass,     ///< a SASS metric, summed over the instructions of `phase` whose opcode begins with `opcode`
  kCounter,  ///< a metric of the range profiler, of the whole kernel
  kLaunch,   ///< "blocks_per_sm": resident blocks per SM by the launch's resources
  kShare,    ///< of time by phase, 0..1; the names stand at SelftestKernel
};

/// What one quantity of a kernel must be. A metric that the chip or its CUPTI lacks is no failure: names are Hopper's.
struct Truth {
  TruthSource source = TruthSource::kSass;
  std::string name;    ///< "smsp__sass_inst_executed", "sm__warps_active.avg.per_cycle_active", "time_share"
  std::string opcode;  ///< kSass: "LDS", "MUFU.EX2"; empty: every instruction
  std::string phase;   ///< "alpha"; empty: the whole kernel
  double expected = 0.0;
  double tolerance = 0.0;  ///< |measured - expected| allowed, in the unit of `expected`; 0: must be equal
  std::string note;        ///< why it must be so, for the one who reads a failure
};

/// A kernel ready to be measured on the current device, and what must come out.
struct SelftestRun {
  std::unique_ptr<Workload> workload;  ///< one part, one launch a call, no shape
  std::vector<Truth> truths;
};

/// A kernel whose truth is known by construction. Its phases are `__device__ __forceinline__` functions named alpha,
/// beta, gamma and sync (waiting for other warps).
///
/// Shares come from a second build of the same source that reads the clock around every phase, per warp:
/// - "warp_time_share": warp-cycles in the phase, of all warp-cycles. What PC samples count. sync: the waiting.
/// - "work_share": the same without sync in numerator and denominator.
/// - "time_share": wall time of the phase between two barriers, by thread 0's clock: what leaving it out would save.
///   Only for kernels whose phases follow one another; where roles overlap it has no single meaning.
struct SelftestKernel {
  std::string id;      ///< "conflict_8"
  std::string proves;  ///< one line
  /// Allocates, and where the truth has to be clocked runs the clock build, on the current device. Throws Error.
  std::function<SelftestRun()> make;
};

/// All of them, counting kernels first. Objects live as long as the program. Needs no GPU.
const std::vector<SelftestKernel>& SelftestKernels();

}  // namespace fa_profile
