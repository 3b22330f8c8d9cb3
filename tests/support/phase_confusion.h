// Phases named by functions compared with inferred ones. For tests and bench/infer_phases.
#pragma once

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fa_profile/infer_phases.h"
#include "fa_profile/measured_code.h"
#include "fa_profile/opcodes.h"
#include "fa_profile/phases.h"
#include "fa_profile/recording.h"
#include "phase_sums.h"

namespace fa_profile::analyze {

/// Weight by the phase that a function names and by the inferred one, where a function names one.
struct PhaseConfusion {
  std::map<std::pair<std::string, std::string>, double> weight;  ///< by named and inferred phase
  double unnamed = 0.0;                                          ///< weight of what no function names

  double All() const {
    return SumWhere([](const auto&) { return true; });
  }
  /// Share of the named weight that has the same name both ways. 0 if nothing is named, like all ratios here.
  double SameRatio() const {
    return OfAll(SumWhere([](const auto& names) { return names.first == names.second; }));
  }
  double Ratio(const std::string& named, const std::string& inferred) const {
    const auto found = weight.find({named, inferred});
    return found == weight.end() ? 0.0 : OfAll(found->second);
  }
  double NamedRatio(const std::string& phase) const {
    return OfAll(SumWhere([&](const auto& names) { return names.first == phase; }));
  }
  double InferredRatio(const std::string& phase) const {
    return OfAll(SumWhere([&](const auto& names) { return names.second == phase; }));
  }
  /// The phase whose share differs most, and by how much; "" where nothing differs.
  std::pair<std::string, double> LargestError() const {
    std::set<std::string> phases;
    for (const auto& [names, ignored] : weight) phases.insert({names.first, names.second});
    std::pair<std::string, double> largest{"", 0.0};
    for (const std::string& phase : phases) {
      const double error = std::abs(InferredRatio(phase) - NamedRatio(phase));
      if (error > largest.second) largest = {phase, error};
    }
    return largest;
  }

 private:
  template <typename Is>
  double SumWhere(const Is& is) const {
    double sum = 0.0;
    for (const auto& [names, part] : weight) sum += is(names) ? part : 0.0;
    return sum;
  }
  double OfAll(double part) const {
    const double all = All();
    return all > 0.0 ? part / all : 0.0;
  }
};

/// Samples of each instruction by warps that wait at no barrier. `sampling` without the branch skid where counts allow.
inline std::vector<double> WorkingSamples(const DeviceFunction& function, const PcSampling& sampling) {
  std::vector<double> samples(function.instructions.size(), 0.0);
  for (const PcSample& pc : sampling.samples) {
    const auto index = pc.function_id == function.id ? IndexOf(function, pc.offset) : std::nullopt;
    if (!index) continue;
    for (const auto& [reason, count] : pc.samples) {
      const std::string_view at = ReasonAt(reason, &function.instructions[*index]);
      if (at != "barrier" && !IsTwin(reason)) samples[*index] += static_cast<double>(count);
    }
  }
  return samples;
}

/// `weights`: by instruction. Barriers and padding do not count: no warp works there. An inference that was refused has
/// no confusion.
inline PhaseConfusion CompareWithNames(const DeviceFunction& function, const InferredPhases& inferred,
                                       const std::vector<double>& weights) {
  PhaseConfusion confusion;
  if (!inferred.refusal.empty()) return confusion;
  const std::vector<std::string> named = PhasesOf(function, AttentionPhases());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const sass::Form form = sass::FormOf(function.instructions[i].opcode);
    if (form == sass::Form::kBarrier || form == sass::Form::kNop) continue;
    if (named[i] == kUnattributed) {
      confusion.unnamed += weights[i];
    } else {
      confusion.weight[{named[i], std::string(inferred.instructions[i].phase)}] += weights[i];
    }
  }
  return confusion;
}

}  // namespace fa_profile::analyze
