#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile {

/// Where a truth is looked up among the measurements.
enum class TruthSource {
  kSass,     ///< a SASS metric, summed over the instructions of `phase` whose opcode begins with `opcode`
  kCounter,  ///< a metric of the range profiler, for the whole kernel
  kLaunch,   ///< "blocks_per_sm": resident blocks per SM by the launch's resources
  kShare,    ///< share of time by phase, 0..1; the names are in SelftestKernel (fa_profile/selftest_kernels.h)
  kWait,     ///< "mbarrier_waits", by warps, and "mbarrier_cycles", the mean of one
  kInferred  ///< "attention_phases": functions of the kernel that the inference of phases takes for attention
};

/// What one quantity of a kernel must be. A metric that the chip or its CUPTI lacks is not a failure: names are
/// Hopper's.
struct Truth {
  TruthSource source = TruthSource::kSass;
  std::string name;    ///< "smsp__sass_inst_executed", "sm__warps_active.avg.per_cycle_active", "time_share"
  std::string opcode;  ///< kSass: "LDS", "MUFU.EX2"; empty: every instruction
  std::string phase;   ///< "alpha"; empty: the whole kernel
  double expected = 0.0;
  double tolerance = 0.0;  ///< |measured - expected| allowed, in the unit of `expected`; 0: must be equal
  std::string note;        ///< why it must be so, for readers of a failure
};

/// A truth and the measured value.
struct TruthCheck {
  enum class Verdict { kPass, kFail, kUnavailable };
  Truth truth;
  std::optional<double> measured;
  Verdict verdict = Verdict::kFail;  ///< kUnavailable: the chip, or its CUPTI, has no such metric
};

/// A counter known to lie, and its value for a kernel. None of our code reads it.
struct KnownLie {
  std::string kernel;
  std::string counter;
  std::string how;  ///< "counts every warp twice"
  std::optional<double> truth;
  std::optional<double> says;
  /// Absent if one of the two was not measured.
  std::optional<bool> still_lies;
};

/// The results of a self-test.
struct SelftestReport {
  struct Kernel {
    std::string id;
    std::string proves;
    std::vector<TruthCheck> checks;
  };
  Session session;
  Device device;
  std::vector<Kernel> kernels;
  std::vector<KnownLie> known_lies;
  std::vector<DataLoss> losses;

  int Count(TruthCheck::Verdict verdict) const {
    int count = 0;
    for (const Kernel& kernel : kernels) {
      for (const TruthCheck& check : kernel.checks) count += check.verdict == verdict ? 1 : 0;
    }
    return count;
  }
};

}  // namespace fa_profile
