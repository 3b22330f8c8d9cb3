#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "fa_profile/finding_rule.h"
#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// The findings of a report, in the order that ranks those of equal weight. Their texts are the Markdown files in
/// profiler/analyze/findings/report/.
const std::vector<FindingRule>& FindingRules();

/// The row with this id. Throws Error, with near matches or the command that has it, for any other.
const FindingRule& RequireFinding(std::string_view id);

/// What is worth acting on in one entry, by weight, largest first. Pure. A rule whose inputs are absent does not fire.
/// A kernel that is not correct has only that finding.
///
/// Reads these fields of `entry`: verification, metrics, stalls, launches, occupancy, shape, timing and phases.
/// `functions`: the machine code of its kernels, for the rules that look at instructions, and `counting` how often it
/// ran (null: unknown); the pointers stay the caller's.
std::vector<Finding> FindProblems(const ProfileEntry& entry, const Device& device,
                                  std::span<const DeviceFunction* const> functions = {},
                                  const SassCounting* counting = nullptr);

}  // namespace fa_profile::analyze
