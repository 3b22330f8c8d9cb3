#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fa_profile {

enum class ExportedType { kCounter, kGauge, kHistogram };

/// One metric family in Prometheus: one row of the table from which the exporter, docs/metrics.md, the dashboards and
/// the rules are all made. To add a family, add a row, and set it where its values come from.
struct ExportedMetric {
  std::string_view name;  ///< base unit in the name, "_total" on counters
  ExportedType type;
  std::string_view unit;    ///< "seconds", "bytes", "cycles", "ratio", "count", "info", ...; "warp cycles" are cycles
                            ///< too; "change": a ratio minus 1
  std::string_view labels;  ///< in order, separated by spaces; the scrape adds `job` and `instance`
  std::string_view help;    ///< one line, no newline (prometheus-cpp does not escape it)
  std::string_view source;  ///< catalogue id of the metric that it sums or repeats, "NVML ...", or what it counts
};

/// The whole table: first measurements of kernels, then devices, then the exporter itself.
std::span<const ExportedMetric> ExportedMetrics();

/// The row with this name, or nullptr.
const ExportedMetric* FindExported(std::string_view name);

/// The values that a series of a metric can have, by its unit.
struct ValueBounds {
  double least;
  double most;
  bool whole;  ///< no fractions

  bool Hold(double value) const;  ///< false for NaN
};

/// A ratio is from 0 to 1, a flag 0 or 1, a change -1 or more; a temperature may be negative, nothing else.
ValueBounds BoundsOf(const ExportedMetric& metric);

/// The name in 0.1.0 of a family about the exporter itself, "faprof_collector_up" for "faprof_exporter_up"; empty for
/// other families. Pages have both until 0.3.0.
std::string OldNameOf(std::string_view name);
/// The reverse of OldNameOf(). Other names are returned unchanged.
std::string PresentNameOf(std::string_view name);

/// "counter", "gauge" or "histogram".
std::string_view ToString(ExportedType type);

/// Most values of a label in one process; later ones become "other".
inline constexpr int kMaxKernelLabels = 32;
inline constexpr int kMaxPhaseLabels = 8;   ///< in addition to "other" and "unattributed"
inline constexpr int kMaxReasonLabels = 9;  ///< StallGroups() without "issuing"
inline constexpr int kMaxXidLabels = 8;
/// Series per GPU: what a ladder needs, and a hard limit.
inline constexpr int kUsualSeriesPerGpu = 850;
inline constexpr int kMaxSeriesPerGpu = 2000;
/// Series for all GPUs of a host together: eight at their limit.
inline constexpr int kMaxSeriesPerPage = 8 * kMaxSeriesPerGpu;

}  // namespace fa_profile
