#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fa_profile {

enum class Polarity { kHigherIsBetter, kLowerIsBetter, kNeutral };

/// Whether two launches of the same code on the same inputs give the same value.
enum class Stability { kDeterministic, kNoisy };

/// A metric as users know it: one row of the catalogue. To add a metric, add a row.
struct CatalogueMetric {
  std::string_view id;     ///< our id: "tensor_core_utilization_ratio"
  std::string_view label;  ///< column or line in a report: "tensor cores"
  std::string_view unit;   ///< "ratio", "count", "bytes", "cycles", "seconds", "hertz", "flops_per_second", ...
  Polarity polarity;
  Stability stability;
  /// Expressions over CUPTI metric names, `device.*`, `launch.*`, `shape.*`, `timing.*` and `range.*` variables, in
  /// order of preference, separated by " | ": the first whose names all have values is used. That is how one row serves
  /// chips whose counters have different names.
  std::string_view formula;
  std::string_view source;  ///< where the formula comes from
  std::string_view help;    ///< one line, no newline
};

/// The whole table, in report order.
std::span<const CatalogueMetric> MetricCatalogue();

/// The metrics of a phase, in report order. Their formulas read sums over the phase's instructions (docs/phases.md):
/// `samples.<reason>`, `sass.<metric>`, `inst.<class>`, `thread_inst.<class>`, `time.*`, and `kernel.` before any of
/// these for the sum over all phases.
std::span<const CatalogueMetric> PhaseCatalogue();

/// The row of MetricCatalogue() with this id, or nullptr.
const CatalogueMetric* FindMetric(std::string_view id);

/// The row of PhaseCatalogue() with this id, or nullptr.
const CatalogueMetric* FindPhaseMetric(std::string_view id);

/// Every name that a formula reads, CUPTI metrics and variables alike, sorted, without duplicates.
std::vector<std::string> FormulaNames(std::string_view formula);

/// Every CUPTI metric name that some formula of the catalogue reads, sorted, without duplicates.
std::vector<std::string> CatalogueInputs();

}  // namespace fa_profile
