#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile {

/// Derives everything a report shows. Pure: the same recording gives the same profile, on any machine.
/// A kernel that was verified and is not correct gets no timing: its speed is not a result.
Profile Analyze(const Recording& recording);

/// CUPTI metric names that Analyze() reads: load only these for a fast report.
std::vector<std::string> MetricsForAnalysis();

/// One metric of one entry on both sides.
struct MetricChange {
  std::string kernel;
  std::string part;
  std::string shape;           ///< AttentionShape::ToString(), or empty
  std::string metric;          ///< catalogue id, or "duration"
  std::optional<double> before;
  std::optional<double> after;
  std::optional<double> ratio; ///< after / before - 1; absent when before is 0 or either side is absent
  std::string judgement;       ///< "better", "worse", "same", "changed" (no polarity), "new", "gone"
};

/// What changed between two profiles, entry by entry (matched by kernel, part and shape). `min_ratio`: relative change
/// below which a noisy metric counts as the same; a deterministic one differs when it differs at all.
struct ProfileDiff {
  std::vector<std::string> incomparable;  ///< reasons: other GPU, driver, clock policy, metric set
  std::vector<MetricChange> changes;      ///< largest relative change first within an entry
  std::vector<std::string> only_before;   ///< entries without a partner
  std::vector<std::string> only_after;
};
ProfileDiff Diff(const Profile& before, const Profile& after, double min_ratio = 0.02);

}  // namespace fa_profile
