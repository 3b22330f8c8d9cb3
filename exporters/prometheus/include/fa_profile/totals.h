#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile::prom {

/// Upper bounds of the duration histogram's buckets, seconds; +Inf comes after them. No whole numbers: OpenMetrics
/// writes them as 1.0, Prometheus as 1.
inline constexpr std::array<double, 10> kDurationBounds = {0.00001, 0.000025, 0.00005, 0.0001, 0.00025,
                                                           0.0005,  0.001,    0.0025,  0.01,   0.1};

/// GPUs of a host; a recording with a higher number is wrong.
inline constexpr int kMostGpus = 64;
/// The label of what is beyond a limit: many kernels, or many phases.
inline constexpr const char* kOtherLabel = "other";
/// The most that one recording can add to a sum: far above anything real, and far below overflow after years.
inline constexpr double kMostOfAContribution = 1e30;

/// Sums over calls of one kernel at shapes of one bucket, and its phases in the newest recording with such a shape.
struct ShapeTotals {
  double launches = 0;           ///< timed, without the profiler; of a watched program all that were seen
  double profiled_launches = 0;  ///< counters taken
  double flops = 0;
  double duration_sum_seconds = 0;
  std::array<double, kDurationBounds.size() + 1> duration_counts{};  ///< not cumulative
  std::map<std::string, double> phase_ratios;  ///< of the time of its calls, "unattributed" too; empty: unknown
};

/// Sums over the profiled calls' phases of one name.
struct PhaseTotals {
  double cycles = 0;
  std::optional<double> instructions;
  std::optional<double> wavefronts;
  std::optional<double> excess_wavefronts;
  std::map<std::string, double> stall_cycles;  ///< by group of reasons: StallGroupOf()
};

/// One kernel on one GPU. Sums are of all recordings, the rest is of the newest that had the kernel.
struct KernelTotals {
  std::map<std::string, ShapeTotals> shapes;  ///< by ShapeBucket()
  std::map<std::string, PhaseTotals> phases;
  std::optional<double> tensor_active_cycles;
  std::optional<double> sm_active_cycles;
  std::optional<double> warps_active_cycles;
  std::optional<double> dram_bytes;
  std::optional<double> dropped_samples;

  std::map<std::string, double> gauges;  ///< by name of the exported metric, of the costliest shape
  std::string origin;                    ///< "ladder", "library", "program"
  std::string commit;                    ///< of the tool
  double idle_seconds = 0;               ///< of AgeKernels(), since the newest recording that had it
};

/// What the exporter counts, and keeps across restarts.
struct Totals {
  struct Gpu {
    std::string uuid;
    std::map<std::string, KernelTotals> kernels;
  };
  std::map<int, Gpu> gpus;  ///< by index
  double folded = 0;        ///< kernels and phases put into "other"
  double merged = 0;        ///< kernels of a recording that another one of it shares the label with, beyond the first
};

/// What one recording adds. A pure function. Only whole calls count, or a program's ranges. A kernel that is not
/// correct adds no launches and no durations: its speed is not a result. Throws
/// Error for numbers that must not be counted: CheckTotals() with kMostOfAContribution.
Totals Contribution(const Recording& recording, const Profile& profile);

/// Adds `from` to `into`: sums are added, everything else is taken from `from`. Kernels beyond kMaxKernelLabels and
/// phases beyond kMaxPhaseLabels are folded into "other".
void Merge(Totals& into, const Totals& from);

/// `seconds` have passed without a recording: forgets kernels that are idle for more than `most`, and a GPU without
/// kernels. The caller measures the time, so that a clock that is set forgets nothing.
void AgeKernels(Totals& totals, double seconds, double most);

/// Throws Error that names the number: a GPU that is not from 0 to kMostGpus - 1, a sum that is not from 0 to `most`, a
/// gauge that is not finite. Everything that is counted passes here, however it came.
void CheckTotals(const Totals& totals, double most);

/// As JSON, doubles exact. TotalsFromJson() throws Error for anything that ToJson() did not write, and for what
/// CheckTotals() refuses.
std::string ToJson(const Totals& totals);
Totals TotalsFromJson(std::string_view text);

/// "le_512", "le_2048", "le_8192", "gt_8192" by the longer sequence; "none" without a sequence length.
std::string ShapeBucket(const std::optional<Shape>& shape);

/// The label of an entry's kernel. The ladder and kernel libraries choose names: "mma". Of a program's kernel
/// QualifiedName(): "void ns::k<int>(float*)" is "ns::k", so that all instantiations of a function share one. At most
/// 64 letters, digits and characters of "_:.-". Where that is not the whole name, "~" and four hexadecimal digits of a
/// hash follow, so that other kernels have other labels, and a kernel has the same one in every run.
std::string KernelLabel(const ProfileEntry& entry);

}  // namespace fa_profile::prom
