#pragma once

#include <fmt/format.h>

#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "derive.h"
#include "fa_profile/profile.h"
#include "fa_profile/recording.h"
#include "fa_profile/units.h"

namespace fa_profile::analyze {

// Shared by the rules of a report's findings: findings.cpp has most of them and their table.

using Findings = std::vector<Finding>;

/// The input of a rule.
struct Subject {
  const ProfileEntry& entry;
  const Device& device;
  std::span<const DeviceFunction* const> functions;
  const SassCounting* counting;  ///< null: instructions were not counted
};

/// The phase's or kernel's metric is known and within the limit.
inline bool AtLeast(const Metrics& metrics, const char* id, double limit) {
  const auto value = Find(metrics, id);
  return value && *value >= limit;
}
inline bool AtMost(const Metrics& metrics, const char* id, double limit) {
  const auto value = Find(metrics, id);
  return value && *value <= limit;
}
inline double OrZero(const Metrics& metrics, const char* id) { return Find(metrics, id).value_or(0.0); }

/// "53 %"
inline std::string Share(double ratio) { return ShortPercent(ratio) + " %"; }

/// What a rule found; FindProblems() adds id and cure.
inline Finding Found(std::string phase, std::string evidence, double weight) {
  return {{}, std::move(phase), std::move(evidence), {}, weight};
}

inline double ShareOf(const PhaseEntry& phase) { return OrZero(phase.metrics, "phase_time_ratio"); }

/// "softmax takes 53 % of the time (302 us)"
inline std::string Takes(const PhaseEntry& phase) {
  std::string text = fmt::format("{} takes {} of the time", phase.name, Share(ShareOf(phase)));
  if (const auto seconds = Find(phase.metrics, "phase_time_seconds"))
    text += fmt::format(" ({})", FormatValue(seconds, "seconds"));
  return text;
}

inline const std::vector<PhaseEntry>& PhaseList(const Subject& subject) {
  static const std::vector<PhaseEntry> kNoPhases;
  return subject.entry.phases ? subject.entry.phases->phases : kNoPhases;
}

// Rules for phases inferred from machine code (inferred_findings.cpp): they read what the inference found out about one
// tile. NoOverlap also reads the measured overlap.
void SoftmaxBound(const Subject& subject, Findings& findings);
void ExponentialsAgain(const Subject& subject, Findings& findings);
void RescaleEveryTile(const Subject& subject, Findings& findings);
void NoOverlap(const Subject& subject, Findings& findings);
void SetupBound(const Subject& subject, Findings& findings);

}  // namespace fa_profile::analyze
