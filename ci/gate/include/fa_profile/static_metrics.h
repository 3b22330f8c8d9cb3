#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "fa_profile/evidence.h"
#include "fa_profile/metric_catalogue.h"

namespace fa_profile {

/// One fact of machine code that the compiler fixed: a metric of tier 0, which a rule can name as it names one of the
/// catalogue. Known without a GPU, and equal for equal code.
struct StaticMetric {
  std::string_view id;     ///< "spill_bytes"
  std::string_view label;  ///< in a report: "spilled bytes per thread"
  std::string_view unit;   ///< "bytes", "count", "instructions"
  Polarity polarity;
  bool of_phases;  ///< there is one of each phase, too
};

/// The whole table, in report order. registers_per_thread is the catalogue's too, with the same meaning.
std::span<const StaticMetric> StaticMetrics();

/// The row with this id, or nullptr.
const StaticMetric* FindStaticMetric(std::string_view id);

/// Its value in the code of one function. `phase` empty: of the whole function; its counts are then those of the phase
/// "" if there is one, else the sum over the phases. Absent when the code does not say, and for a phase of a metric
/// that has none; a phase that is not in the code has 0 instructions.
std::optional<double> StaticValue(const CodeFacts& code, std::string_view phase, std::string_view id);

}  // namespace fa_profile
