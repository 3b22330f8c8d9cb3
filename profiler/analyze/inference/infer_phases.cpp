#include "fa_profile/infer_phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "inference/checks.h"
#include "inference/key_tile.h"
#include "inference/phases_of_code.h"

namespace fa_profile::analyze {
namespace {

/// Counts, or ten for each loop around an instruction.
std::vector<double> RunWeights(const Flow& flow, const std::vector<double>& executed) {
  if (!executed.empty()) return executed;
  constexpr int kDeepestLoop = 4;
  std::vector<double> weights;
  weights.reserve(flow.graph.loop_depth.size());
  for (const int depth : flow.graph.loop_depth) weights.push_back(std::pow(10.0, std::min(depth, kDeepestLoop)));
  return weights;
}

struct Attempt {
  InferredPhases inferred;
  bool confused = false;  ///< it passes the checks, and takes exponentials of the output
};

Attempt InferWith(const DeviceFunction& function, const std::vector<Operands>& operands, const Flow& flow,
                  const ForwardEdges& forward, const Values& values, SharedMemoryModel model,
                  const std::vector<std::optional<double>>& rounds, const std::vector<double>& executed,
                  StepBudget& budget) {
  const Memory memory = ReadMemory(function, operands, flow, forward.successors, values, model, budget);
  const Ranks ranks = FindRanks(function, operands, values, memory, budget);
  const Regions regions(operands, flow, forward, ranks, budget);
  const StaticRounds static_rounds = CountRounds(flow, rounds, ranks, budget);
  const std::vector<double> weights = RunWeights(flow, executed);
  const CodeFacts code{function, operands, flow, values, memory, ranks, regions, static_rounds, weights};
  InferredPhases inferred;
  inferred.checks = CheckPhases(code, executed, budget);
  Refusal refusal = FailedCheck(code, inferred.checks, budget);
  inferred.refusal = std::move(refusal.why);
  inferred.refusal_word = refusal.word;
  if (!inferred.refusal.empty()) return {std::move(inferred)};
  Assignment phases(operands.size());
  AssignLoads(code, budget, phases);
  AssignByRank(code, budget, phases);
  AssignByNeighbours(code, budget, phases);
  for (const Assigned& assigned : phases.all()) {
    inferred.instructions.push_back({PhaseName(assigned.phase), assigned.grade, assigned.reason});
  }
  inferred.tile = ReadKeyTile(code, phases, budget);
  return {std::move(inferred), ExponentialOfOutput(code)};
}

}  // namespace

std::string_view GradeName(InferenceGrade grade) {
  switch (grade) {
    case InferenceGrade::kDirect:
      return "direct";
    case InferenceGrade::kDerived:
      return "derived";
    default:
      return "guess";
  }
}

InferredPhases InferPhases(const DeviceFunction& function, const std::vector<double>& executed) {
  InferredPhases inferred;
  StepBudget budget;
  const auto refuse = [&](Refusal refusal) {
    inferred.instructions.clear();
    inferred.tile.reset();
    inferred.refusal = std::move(refusal.why);
    inferred.refusal_word = refusal.word;
    inferred.steps = budget.spent();
    return inferred;
  };
  if (function.instructions.empty()) return refuse({"code", "it was not disassembled"});
  std::vector<Operands> operands;
  operands.reserve(function.instructions.size());
  bool has_exponentials = false;
  for (const Instruction& instruction : function.instructions) {
    operands.push_back(ReadOperands(instruction));
    const std::size_t slots = operands.back().uses.size() + operands.back().definitions.size();
    if (!budget.Spend(1 + slots)) return refuse({"size", "it is too large"});
    has_exponentials = has_exponentials || operands.back().form == Form::kExponential;
  }
  if (!has_exponentials) return refuse(WithoutExponentials(operands));
  const Flow flow = ReadFlow(function, budget);
  if (budget.exhausted()) return refuse({"size", "its control flow is too large"});
  if (const int unknown = flow.graph.unknown_branches; unknown > 0) {
    return refuse({"branches", fmt::format("the targets of {} indirect {} are not known", unknown,
                                           unknown == 1 ? "branch" : "branches")});
  }
  const Values values(operands, flow, budget);
  const ForwardEdges forward = WithinOneTile(operands, flow);
  const std::vector<std::optional<double>> rounds = ReadRounds(function, operands, flow, values, budget);
  for (const SharedMemoryModel model : {SharedMemoryModel::kEveryStore, SharedMemoryModel::kNewestStore}) {
    Attempt attempt = InferWith(function, operands, flow, forward, values, model, rounds, executed, budget);
    if (budget.exhausted()) return refuse({"size", "it is too large"});
    const bool first = model == SharedMemoryModel::kEveryStore;
    const bool better = attempt.inferred.refusal.empty() && !(attempt.confused && inferred.refusal.empty());
    if (first || better) inferred = std::move(attempt.inferred);
    if (inferred.refusal.empty() && !attempt.confused) break;
  }
  inferred.steps = budget.spent();
  return inferred;
}

}  // namespace fa_profile::analyze
