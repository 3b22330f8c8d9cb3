// How well inferred phases agree with those that a kernel's phase functions name, and the halves of the variants that
// tests/phase_variants has for it. For tests and bench/infer_phases.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fa_profile/infer_phases.h"
#include "fa_profile/phases.h"
#include "fa_profile/recording.h"

namespace fa_profile {

/// Weights, samples or instructions, of a function's instructions without barriers. Empty where the inference refused.
struct PhaseAgreement {
  std::string refusal;
  analyze::InferenceChecks checks;
  std::map<std::pair<std::string, std::string>, double> weights;  ///< by named and inferred phase
  double all = 0.0;                                               ///< with what no function names
  double graded[3] = {};                                          ///< by InferenceGrade, of `all`

  /// Of what a function names.
  double Named() const {
    return Sum([](const auto&) { return true; });
  }
  double RightRatio() const {
    return Named() > 0.0 ? Sum([](const auto& phases) { return phases.first == phases.second; }) / Named() : 0.0;
  }
  /// The largest difference between a phase's share as named and as inferred.
  double LargestErrorRatio() const {
    std::set<std::string> phases;
    for (const auto& [names, weight] : weights) phases.insert({names.first, names.second});
    double largest = 0.0;
    for (const std::string& phase : phases) {
      const double named = Sum([&](const auto& names) { return names.first == phase; });
      const double found = Sum([&](const auto& names) { return names.second == phase; });
      largest = std::max(largest, std::abs(named - found) / Named());
    }
    return largest;
  }

  template <typename Is>
  double Sum(const Is& is) const {
    double sum = 0.0;
    for (const auto& [names, weight] : weights) sum += is(names) ? weight : 0.0;
    return sum;
  }
};

/// `weights`: by instruction of `function`.
inline PhaseAgreement ComparePhases(const DeviceFunction& function, const analyze::InferredPhases& inferred,
                                    const std::vector<double>& weights) {
  PhaseAgreement agreement{inferred.refusal, inferred.checks, {}};
  if (!inferred.refusal.empty()) return agreement;
  const std::vector<std::string> named = analyze::PhasesOf(function, AttentionPhases());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::string& opcode = function.instructions[i].opcode;
    if (opcode.starts_with("BAR") || opcode == "NOP") continue;
    const analyze::InferredInstruction& found = inferred.instructions[i];
    agreement.all += weights[i];
    if (found.phase != kUnattributed) agreement.graded[static_cast<int>(found.grade)] += weights[i];
    if (named[i] != kUnattributed) agreement.weights[{named[i], std::string(found.phase)}] += weights[i];
  }
  return agreement;
}

/// The variant of a kernel's demangled name: "v_keys16" of MmaForward<...::v_keys16>. Empty for other kernels.
inline std::string VariantOf(std::string_view name) {
  for (std::size_t at = name.find("v_"); at != std::string_view::npos; at = name.find("v_", at + 1)) {
    if (at > 0 && name[at - 1] != ':') continue;
    const std::size_t end = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_", at);
    return std::string(name.substr(at, end - at));
  }
  return {};
}

/// Whether a variant is in the half that was set aside before the rules of the inference were tuned on the other half:
/// bit 16 of the FNV-1a hash of its name. Written down before any variant was looked at.
constexpr bool IsSetAside(std::string_view variant) {
  std::uint32_t hash = 2166136261U;
  for (const char c : variant) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return (hash >> 16U & 1U) != 0U;
}

/// Nearest ranks of values, of which small ones are bad.
struct LowDistribution {
  double median = 0.0;
  double tenth_percentile = 0.0;
  double worst = 0.0;
};

inline LowDistribution DistributionOf(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const auto rank = [&](double share) {
    const auto index = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
    return values[std::max<std::size_t>(index, 1) - 1];
  };
  return {rank(0.5), rank(0.1), values.front()};
}

}  // namespace fa_profile
