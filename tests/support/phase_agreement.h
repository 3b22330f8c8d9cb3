// How well inferred phases agree with those that a kernel's phase functions name, and the halves of the variants that
// tests/phase_variants has for it. For tests and bench/infer_phases.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "branch_skid.h"
#include "fa_profile/demangle.h"
#include "fa_profile/infer_phases.h"
#include "fa_profile/measured_code.h"
#include "fa_profile/phases.h"
#include "fa_profile/recording.h"
#include "phase_confusion.h"

namespace fa_profile {

/// The inference's result for a function, and how well it agrees. No weights if it refused.
struct PhaseAgreement : analyze::PhaseConfusion {
  std::string refusal;
  analyze::InferenceChecks checks;
  double graded[3] = {};  ///< weight by InferenceGrade

  double RightRatio() const { return SameRatio(); }
  double LargestErrorRatio() const { return LargestError().second; }
  /// With what no function names.
  double Whole() const { return All() + unnamed; }
};

/// `weights`: by instruction of `function`.
inline PhaseAgreement ComparePhases(const DeviceFunction& function, const analyze::InferredPhases& inferred,
                                    const std::vector<double>& weights) {
  PhaseAgreement agreement{analyze::CompareWithNames(function, inferred, weights), inferred.refusal, inferred.checks};
  if (!inferred.refusal.empty()) return agreement;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::string& opcode = function.instructions[i].opcode;
    if (opcode.starts_with("BAR") || opcode == "NOP") continue;
    const analyze::InferredInstruction& found = inferred.instructions[i];
    if (found.phase != kUnattributed) agreement.graded[static_cast<int>(found.grade)] += weights[i];
  }
  return agreement;
}

/// A kernel of a recording. Nothing is owned.
struct MeasuredKernel {
  std::string name;  ///< with the shape, and the function's where a case has several
  const DeviceFunction* function = nullptr;
  std::vector<double> executed;  ///< by instruction; empty where nothing was counted
  /// By instruction: samples of warps that wait at no barrier, without the branch skid; `executed` where the sampler
  /// lost the code's address.
  std::vector<double> weights;
};

/// The functions of each case that was sampled.
inline std::vector<MeasuredKernel> MeasuredKernels(const Recording& recording) {
  std::vector<MeasuredKernel> kernels;
  for (const PcSampling& sampling : recording.samplings) {
    const auto of = std::ranges::find(recording.cases, sampling.case_id, &Case::id);
    const auto counting = std::ranges::find(recording.countings, sampling.case_id, &SassCounting::case_id);
    const SassCounting* const counts = counting == recording.countings.end() ? nullptr : &*counting;
    auto functions = analyze::MeasuredFunctions(recording, {&sampling}, {});
    const bool lost = functions.empty();
    if (lost) functions = analyze::MeasuredFunctions(recording, {}, {counts});
    const PcSampling corrected =
        counts == nullptr ? sampling : analyze::WithoutBranchSkid(functions, sampling, *counts);
    for (const DeviceFunction* function : functions) {
      std::string name = of->kernel + (of->shape ? " " + of->shape->ToString() : "");
      if (functions.size() > 1) name += " " + FunctionName(Demangle(function->name.c_str()));
      std::vector<double> executed = analyze::ExecutedOf(*function, counts);
      std::vector<double> weights = lost ? executed : analyze::WorkingSamples(*function, corrected);
      kernels.push_back({std::move(name), function, std::move(executed), std::move(weights)});
    }
  }
  return kernels;
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
/// bit 16 of the FNV-1a hash of its name. Written down before anybody looked at a variant.
constexpr bool IsSetAside(std::string_view variant) {
  std::uint32_t hash = 2166136261U;
  for (const char c : variant) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return (hash >> 16U & 1U) != 0U;
}

/// Nearest ranks of values; small values are bad.
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
