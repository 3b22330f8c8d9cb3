#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "fa_profile/evidence.h"
#include "fa_profile/metric_catalogue.h"

namespace fa_profile::gate {

/// A property of machine code, which rules can name like a metric of the catalogue: of tier 0, or (local_accesses,
/// loop_local_accesses) of ReleaseCode alone. Known without a GPU, and equal for equal code.
struct StaticMetric {
  std::string_view id;     ///< "spill_bytes"
  std::string_view label;  ///< in a report: "spilled bytes per thread"
  std::string_view unit;   ///< "bytes", "count", "instructions"
  Polarity polarity;
  bool of_phases;  ///< also exists for each phase
};

/// The whole table, in report order. registers_per_thread is also in the catalogue, with the same meaning.
std::span<const StaticMetric> StaticMetrics();

/// The row with this id, or nullptr.
const StaticMetric* FindStaticMetric(std::string_view id);

/// Its value for one function. `phase` empty: the whole function, whose counts are those of the phase "" if it exists,
/// else the sum over the phases. Absent: unknown, or a metric that phases do not have. A phase without code has 0
/// instructions.
std::optional<double> StaticValue(const CodeFacts& code, std::string_view phase, std::string_view id);

}  // namespace fa_profile::gate
