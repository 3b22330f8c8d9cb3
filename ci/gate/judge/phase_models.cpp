#include <fmt/core.h>

#include "judge.h"

namespace fa_profile::gate {

bool PhaseModelsDiffer(const CaseFacts& base, const CaseFacts& candidate) {
  return !base.phase_model.empty() && !candidate.phase_model.empty() && base.phase_model != candidate.phase_model;
}

std::optional<GateInput> WithoutForeignPhases(const GateInput& input, std::vector<std::string>& notes) {
  std::optional<GateInput> without;
  for (std::size_t i = 0; i < input.base.cases.size(); ++i) {
    const CaseFacts& base = input.base.cases[i];
    const auto index = FindCase(input.candidate, base.kernel, base.shape);
    if (!index || !PhaseModelsDiffer(base, input.candidate.cases[*index])) continue;
    if (!without) without = input;
    for (ProcessSample& process : without->base.processes) {
      if (i >= process.values.size()) continue;
      std::erase_if(process.values[i], [](const auto& value) { return !value.first.phase.empty(); });
    }
    notes.push_back(
        fmt::format("{}: phases come from two models: {} in the base, {} in the candidate; they were not "
                    "compared",
                    OneLine(CaseName(base), 80), OneLine(base.phase_model, 40),
                    OneLine(input.candidate.cases[*index].phase_model, 40)));
  }
  return without;
}

}  // namespace fa_profile::gate
