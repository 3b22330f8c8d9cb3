#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>

namespace fa_profile {

/// Upper bounds of the duration histogram's buckets, in seconds; +Inf comes after them. No whole numbers: OpenMetrics
/// writes them as 1.0, Prometheus as 1.
inline constexpr std::array<double, 10> kDurationBounds = {0.00001, 0.000025, 0.00005, 0.0001, 0.00025,
                                                           0.0005,  0.001,    0.0025,  0.01,   0.1};

/// Most GPUs in a host; a recording with a higher number is wrong.
inline constexpr int kMostGpus = 64;
/// The label for everything beyond a limit: many kernels, or many phases.
inline constexpr const char* kOtherLabel = "other";
/// The most that one recording can add to a sum: far above anything real, and far below overflow after years.
inline constexpr double kMostOfAContribution = 1e30;
/// The most calls of a kernel that are counted: up to here a double distinguishes one from the next.
inline constexpr double kMostCalls = 9e15;
/// Kernels per GPU whose sums are kept, on the page or hidden.
inline constexpr std::size_t kMostKernelsKept = 128;

/// Sums over calls of one kernel at shapes in one bucket, and its phases in the newest recording with such a shape.
struct ShapeTotals {
  double launches = 0;           ///< timed calls, without the profiler; for a watched program all that were seen
  double profiled_launches = 0;  ///< counters taken
  double flops = 0;
  double duration_sum_seconds = 0;
  std::array<double, kDurationBounds.size() + 1> duration_counts{};  ///< not cumulative
  std::map<std::string, double> phase_ratios;  ///< shares of the time of its calls, including "unattributed"; empty:
                                               ///< unknown

  bool HasFlops() const { return flops > 0; }         ///< if false, it has no series for them
  bool HasDurations() const { return launches > 0; }  ///< likewise

  bool operator==(const ShapeTotals&) const = default;
};

/// Sums over the phases with one name in the profiled calls.
struct PhaseTotals {
  double cycles = 0;
  std::optional<double> instructions;
  std::optional<double> wavefronts;
  std::optional<double> excess_wavefronts;
  std::map<std::string, double> stall_cycles;  ///< by group of reasons: StallGroupOf()

  bool operator==(const PhaseTotals&) const = default;
};

/// One kernel on one GPU. Sums cover all recordings, the rest is from the newest that had the kernel.
struct KernelTotals {
  std::map<std::string, ShapeTotals> shapes;  ///< by ShapeBucket()
  std::map<std::string, PhaseTotals> phases;
  std::optional<double> tensor_active_cycles;
  std::optional<double> sm_active_cycles;
  std::optional<double> warps_active_cycles;
  std::optional<double> dram_bytes;
  std::optional<double> dropped_samples;

  std::map<std::string, double> gauges;  ///< by name of the exported metric, for the costliest shape
  std::string origin;                    ///< "ladder", "library", "program"
  std::string commit;                    ///< the tool's commit
  double idle_seconds = 0;               ///< counted by AgeKernels(), since the newest recording that had it
  bool hidden = false;                   ///< removed from the page by HideOldest()

  bool operator==(const KernelTotals&) const = default;
};

/// Everything that the exporter counts, and keeps across restarts.
struct Totals {
  struct Gpu {
    std::string uuid;
    std::map<std::string, KernelTotals> kernels;

    bool operator==(const Gpu&) const = default;
  };
  std::map<int, Gpu> gpus;  ///< by index
  double folded = 0;        ///< kernels and phases put into "other"
  double merged = 0;        ///< kernels that share their label with another in the same recording, beyond the first

  bool operator==(const Totals&) const = default;
};

/// Null: it has no such kernel.
const KernelTotals* FindKernel(const Totals& totals, int gpu, const std::string& name);

/// What Merge() needs to know about the page, so that Prometheus's increase() counts every recording. increase() sees
/// growth only between two samples of a series: a new series must first be seen at 0, and one that was hidden at its
/// old value.
struct PageHistory {
  Totals* held = nullptr;  ///< receives the kernels that the page must still show with these sums; null: none
  double hide_after = std::numeric_limits<double>::infinity();  ///< in seconds; kernels idle for longer may be hidden
};

/// Adds `from` to `into`: sums are added, everything else is taken from `from`. At most kMaxKernelLabels kernels of a
/// GPU are on the page, not counting hidden ones: a further kernel replaces the oldest that may be hidden, else it is
/// folded into "other". So are phases beyond kMaxPhaseLabels.
void Merge(Totals& into, const Totals& from, const PageHistory& history = {});

/// `seconds` have passed without a recording: erases kernels that have been idle for more than `most`, and GPUs without
/// kernels. The caller measures the time, so that setting the clock erases nothing.
void AgeKernels(Totals& totals, double seconds, double most = std::numeric_limits<double>::infinity());

/// Removes one kernel from the page, keeping its sums: the one idle for longest, among those that are not in
/// history.held and have been idle for more than history.hide_after. False: there is none.
bool HideOldest(Totals& totals, const PageHistory& history);

/// Throws Error that names the number: a GPU outside 0 to kMostGpus - 1, a sum outside 0 to `most`, a count of calls
/// above kMostCalls, a gauge that is not exported or outside BoundsOf() its metric. Everything that is counted passes
/// through here, wherever it came from.
void CheckTotals(const Totals& totals, double most);

}  // namespace fa_profile
