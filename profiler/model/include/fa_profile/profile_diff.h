#pragma once

#include <optional>
#include <string>
#include <vector>

namespace fa_profile {

/// One metric of one entry, or of one of its phases, on both sides.
struct MetricChange {
  std::string kernel;
  std::string part;
  std::string shape;   ///< Shape::ToString(), or empty
  std::string phase;   ///< empty: the whole entry
  std::string metric;  ///< catalogue id; of the phase catalogue where there is a phase
  std::optional<double> before;
  std::optional<double> after;
  std::optional<double> ratio;  ///< after / before - 1; absent when before is 0 or either side is absent
  std::string judgement;        ///< "better", "worse", "same", "changed" (no polarity), "new", "gone"
};

/// What changed between two profiles, entry by entry (matched by kernel, part and shape).
struct ProfileDiff {
  std::vector<std::string> incomparable;  ///< reasons: other GPU, driver, clock policy, metric set
  std::vector<MetricChange> changes;      ///< largest relative change first within an entry; then those of its phases
  std::vector<std::string> only_before;   ///< entries without a partner
  std::vector<std::string> only_after;
};

}  // namespace fa_profile
