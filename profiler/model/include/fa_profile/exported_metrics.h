#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fa_profile {

enum class ExportedType { kCounter, kGauge, kHistogram };

/// One metric family as Prometheus sees it: one row of the table that the exporter, docs/metrics.md, the dashboards and
/// the rules are all made from. Adding a family is adding a row, and setting it where its values come from.
struct ExportedMetric {
  std::string_view name;  ///< base unit in the name, "_total" on counters
  ExportedType type;
  std::string_view unit;  ///< "seconds", "bytes", "cycles", "ratio", "count", "info", ...; "warp cycles" are cycles too
  std::string_view labels;  ///< in order, separated by spaces; the scrape adds `job` and `instance`
  std::string_view help;    ///< one line, no newline (prometheus-cpp does not escape it)
  std::string_view source;  ///< id of the metric catalogue it sums or repeats, "NVML ...", or what it counts
};

/// The whole table: first what kernels are measured by, then devices, then the exporter itself.
std::span<const ExportedMetric> ExportedMetrics();

/// The name that a family of the exporter itself had in 0.1.0, "faprof_collector_up" of "faprof_exporter_up"; empty for
/// other families. Pages have both until 0.3.0.
std::string OldNameOf(std::string_view name);
/// The reverse of OldNameOf(). Other names are returned as they are.
std::string PresentNameOf(std::string_view name);

/// "counter", "gauge" or "histogram".
std::string_view ToString(ExportedType type);

/// Most values that a label may take in one process; what comes after them is "other".
inline constexpr int kMaxKernelLabels = 32;
inline constexpr int kMaxPhaseLabels = 8;   ///< besides "other" and "unattributed"
inline constexpr int kMaxReasonLabels = 9;  ///< StallGroups() without "issuing"
inline constexpr int kMaxXidLabels = 8;
/// Series of one GPU: what a ladder needs, and what is never exceeded.
inline constexpr int kUsualSeriesPerGpu = 850;
inline constexpr int kMaxSeriesPerGpu = 2000;
/// Series of all GPUs of a host together: eight at their most.
inline constexpr int kMaxSeriesPerPage = 8 * kMaxSeriesPerGpu;

}  // namespace fa_profile
