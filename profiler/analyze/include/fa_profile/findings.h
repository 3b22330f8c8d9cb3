#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile {

/// One row of the findings' table: what is looked for, and what to tell who has it.
struct FindingRule {
  std::string id;         ///< stable, kebab-case: "serial-softmax"
  std::string title;      ///< one line
  std::string condition;  ///< when it fires, with its thresholds, in words
  std::string weight;     ///< what its weight is the share of, in words
  std::string source;     ///< where the measure or the threshold comes from
  std::string cure;       ///< one line; bottleneck-phase names its own by what the phase waits for
  std::string story;      ///< what it means, how it was measured, what to change, when it is no problem. Paragraphs
                          ///< are separated by a newline
};

/// The whole table. Findings of equal weight stand in its order.
const std::vector<FindingRule>& FindingRules();

/// The row with this id, or nullptr.
const FindingRule* FindFindingRule(std::string_view id);

/// What is worth acting on in one entry, the weightiest first. Pure. A rule whose inputs are absent does not fire. Of a
/// kernel that is not correct it says that alone.
///
/// Reads of `entry`: verification, metrics, stalls, launches, occupancy, shape, timing and phases. `functions`: the
/// machine code of its kernels, for the rules that look at instructions; pointers stay the caller's.
std::vector<Finding> FindProblems(const ProfileEntry& entry, const Device& device,
                                  std::span<const DeviceFunction* const> functions = {});

}  // namespace fa_profile
