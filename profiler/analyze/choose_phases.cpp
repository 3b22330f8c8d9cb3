#include "choose_phases.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "fa_profile/infer_phases.h"
#include "fa_profile/measured_code.h"
#include "fa_profile/opcodes.h"
#include "fa_profile/phases.h"

namespace fa_profile::analyze {
namespace {

ChosenPhases ByMap(const std::vector<const DeviceFunction*>& functions, const PhaseMap& map, std::string_view grade) {
  ChosenPhases chosen{{}, map.name, {}};
  for (const DeviceFunction* function : functions) chosen.functions.push_back(LabelByRules(*function, map, grade));
  return chosen;
}

ChosenPhases ByOpcodes(const std::vector<const DeviceFunction*>& functions) {
  return ByMap(functions, sass::OpcodePhases(), "opcode");
}

ChosenPhases ByFunctions(const std::vector<const DeviceFunction*>& functions) {
  return ByMap(functions, AttentionPhases(), "named");
}

/// Samples by instruction, or executions, or 1 each: the weights for an inference's grades.
std::vector<double> WeightsOf(const DeviceFunction& function, const PcSampling* sampling,
                              const std::vector<double>& executed) {
  std::vector<double> weights(function.instructions.size(), 0.0);
  if (sampling == nullptr) return executed.empty() ? std::vector<double>(weights.size(), 1.0) : executed;
  for (const PcSample& pc : sampling->samples) {
    const auto index = pc.function_id == function.id ? IndexOf(function, pc.offset) : std::nullopt;
    if (!index) continue;
    for (const auto& [reason, count] : pc.samples) {
      if (!reason.ends_with("_not_issued")) weights[*index] += static_cast<double>(count);
    }
  }
  return weights;
}

/// A function, its inferred phases, and the weight of its instructions.
struct InferredFunction {
  const DeviceFunction* function = nullptr;
  InferredPhases phases;
  std::vector<double> weights;

  double weight() const { return std::accumulate(weights.begin(), weights.end(), 0.0); }
};

PhaseInference Summarize(const std::vector<InferredFunction>& functions, const InferredPhases& main) {
  const InferenceChecks& checks = main.checks;
  PhaseInference inference;
  inference.qk_to_pv_ratio = checks.qk_to_pv_ratio;
  inference.multiply_adds_per_exponential = checks.multiply_adds_per_exponential;
  inference.counted = checks.counted;
  inference.exponentials_per_score = checks.exponentials_per_score;
  inference.tile = main.tile;
  double all = 0.0;
  double graded[3] = {};
  for (const InferredFunction& inferred : functions) {
    all += inferred.weight();
    for (std::size_t i = 0; i < inferred.phases.instructions.size(); ++i) {
      const InferredInstruction& instruction = inferred.phases.instructions[i];
      if (instruction.phase != kUnattributed) graded[static_cast<int>(instruction.grade)] += inferred.weights[i];
    }
  }
  if (all <= 0.0) return inference;
  inference.direct_ratio = graded[static_cast<int>(InferenceGrade::kDirect)] / all;
  inference.derived_ratio = graded[static_cast<int>(InferenceGrade::kDerived)] / all;
  inference.guess_ratio = graded[static_cast<int>(InferenceGrade::kGuess)] / all;
  return inference;
}

LabelledFunction Label(const InferredFunction& inferred) {
  LabelledFunction labelled{inferred.function, kUnattributed, {}};
  for (const InferredInstruction& instruction : inferred.phases.instructions) {
    labelled.phases.emplace_back(instruction.phase);
    const bool found = instruction.phase != kUnattributed;
    labelled.grounds.push_back(found ? PhaseGround{GradeName(instruction.grade), instruction.reason} : PhaseGround{});
  }
  labelled.phases.resize(inferred.function->instructions.size(), kUnattributed);
  labelled.grounds.resize(labelled.phases.size());
  return labelled;
}

ChosenPhases ByInference(const std::vector<const DeviceFunction*>& functions, const PcSampling* sampling,
                         const SassCounting* counting) {
  std::vector<InferredFunction> inferred;
  for (const DeviceFunction* function : functions) {
    if (function->instructions.empty()) continue;
    const std::vector<double> executed = ExecutedOf(*function, counting);
    inferred.push_back({function, InferPhases(*function, executed), WeightsOf(*function, sampling, executed)});
  }
  const auto main = std::ranges::max_element(inferred, {}, &InferredFunction::weight);
  if (main == inferred.end()) return ByOpcodes(functions);
  if (!main->phases.refusal.empty()) {
    ChosenPhases chosen = ByOpcodes(functions);
    chosen.inference.emplace().refusal = main->phases.refusal;
    chosen.inference->refusal_word = main->phases.refusal_word;
    return chosen;
  }
  ChosenPhases chosen{{}, kInferredPhasesName, Summarize(inferred, main->phases)};
  chosen.inference->weighed_by = sampling != nullptr           ? "samples"
                                 : main->phases.checks.counted ? "executed instructions"
                                                               : "instructions";
  for (const DeviceFunction* function : functions) {
    const auto found = std::ranges::find(inferred, function, &InferredFunction::function);
    chosen.functions.push_back(found == inferred.end() ? LabelledFunction{function, kUnattributed, {}} : Label(*found));
  }
  return chosen;
}

}  // namespace

ChosenPhases ChoosePhases(const std::vector<const DeviceFunction*>& functions, const std::optional<PhaseMap>& map,
                          PhaseSource source, const PcSampling* sampling, const SassCounting* counting) {
  switch (source) {
    case PhaseSource::kFunctions:
      return ByFunctions(functions);
    case PhaseSource::kCode:
      return ByInference(functions, sampling, counting);
    case PhaseSource::kOpcodes:
      return ByOpcodes(functions);
    default:
      break;
  }
  if (map) return ByMap(functions, *map, "map");
  const bool named = ChoosePhaseMap(functions).name != kOpcodePhasesName;
  return named ? ByFunctions(functions) : ByInference(functions, sampling, counting);
}

}  // namespace fa_profile::analyze
