#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fa_profile {

/// A named list of metrics, as defined by Nsight Compute, or ours ("phases").
struct MetricSet {
  std::string name;
  std::string description;
  /// CUPTI metric names with rollup and submetric, sorted; the chip's host library decides which of them exist.
  std::vector<std::string> metrics;
  /// Names in Nsight Compute's set that no hardware counter can give, with the reason.
  struct Omitted {
    std::string metric;
    std::string reason;
  };
  std::vector<Omitted> omitted;
};

/// Names of the built-in sets, in the table's order: the choices of --ncu-set.
std::vector<std::string> MetricSetNames();

/// Chips for which the built-in sets have their own names.
std::vector<std::string> MetricSetChips();

/// A built-in set for a chip ("GH100", "GA100", "AD104", "GB100"). Throws Error with near matches for an unknown name.
/// Sets name counters that differ by chip generation, so the chip matters: another Ampere, Ada or Blackwell chip gets
/// the names of the one above, every other chip GH100's.
MetricSet BuiltinMetricSet(std::string_view name, std::string_view chip);

/// Why no hardware counter gives `metric`, judging by its name; empty if one may. The chip's host library knows what
/// the chip lacks.
std::string_view OmissionReason(std::string_view metric);

/// The metrics that Nsight Compute puts behind a name on a chip: for "breakdown:..." the constituents of its
/// throughputs, for "group:memory__chart", "group:memory__..._table" those of its memory chart and tables. Sorted;
/// empty for any other name.
std::vector<std::string> ExpandMetricGroup(std::string_view group, std::string_view chip);

}  // namespace fa_profile
