#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fa_profile/expression.h"
#include "fa_profile/metric_catalogue.h"
#include "fa_profile/profile.h"
#include "fa_profile/recording.h"
#include "fa_profile/shape.h"

namespace fa_profile::analyze {

/// Values by metric id or variable name, without unknown ones.
using Metrics = std::map<std::string, double>;

std::optional<double> Find(const Metrics& values, const std::string& name);

/// A metric that says what share of their cycles warps spend in one state: issuing, or stalled for one reason.
bool IsWarpState(std::string_view metric);

/// Metrics by id. `contradictory`: ids of ratios that were left out because they, or the sum of all warp states, were
/// outside 0 to 1 by more than their sources may differ.
struct Derived {
  Metrics metrics;
  std::vector<std::string> contradictory;
};

/// The formulas of a catalogue, parsed once.
class ParsedCatalogue {
 public:
  /// `slack`: the inputs come from several runs of the same code, so a ratio that exceeds 0 to 1 by up to this is set
  /// to 0 or 1.
  ParsedCatalogue(std::span<const CatalogueMetric> catalogue, double slack);

  /// The metrics that have a value.
  Derived Evaluate(const Lookup& lookup) const;

 private:
  std::vector<std::pair<const CatalogueMetric*, Expression>> formulas_;
  double slack_;
};

/// The inputs of one entry's formulas. Nothing is owned.
struct DeriveInputs {
  const Device* device = nullptr;
  const Metrics* counters = nullptr;  ///< null: the entry has no range
  const std::vector<Launch>* launches = nullptr;
  bool user_ranges = true;  ///< the counters belong to a user range, which is longer than its contents
  const Occupancy* occupancy = nullptr;
  Work work;  ///< absent for a part: its share of the work is not known
  const TimingSummary* timing = nullptr;
  std::optional<double> parts_median_ns;  ///< sum over the parts; only for a call of several
  bool several_kernels = false;           ///< the entry is a call of several kernels
};

/// The longest launch, or null.
const Launch* LongestLaunch(const std::vector<Launch>& launches);

/// All catalogue metrics that have a value.
Derived DeriveMetrics(const DeriveInputs& inputs);

}  // namespace fa_profile::analyze
