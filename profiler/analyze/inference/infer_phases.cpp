#include "fa_profile/infer_phases.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "inference/checks.h"
#include "inference/phases_of_code.h"

namespace fa_profile::analyze {
namespace {

/// Counts, or ten for each loop around an instruction.
std::vector<double> WeightsOf(const Flow& flow, const std::vector<double>& executed) {
  if (!executed.empty()) return executed;
  constexpr int kDeepestLoop = 4;
  std::vector<double> weights;
  weights.reserve(flow.graph.loop_depth.size());
  for (const int depth : flow.graph.loop_depth) weights.push_back(std::pow(10.0, std::min(depth, kDeepestLoop)));
  return weights;
}

InferredPhases InferWith(const DeviceFunction& function, const std::vector<Operands>& operands, const Flow& flow,
                         const ForwardEdges& forward, const Values& values, SharedMemoryModel model,
                         const std::vector<double>& executed, Work& work) {
  const Memory memory = ReadMemory(function, operands, flow, forward.successors, values, model, work);
  const Ranks ranks = FindRanks(function, operands, values, memory, work);
  const Regions regions(operands, flow, forward, ranks, work);
  const std::vector<double> weights = WeightsOf(flow, executed);
  const CodeFacts code{function, operands, flow, values, memory, ranks, regions, weights};
  InferredPhases inferred;
  inferred.checks = CheckPhases(code, executed);
  inferred.refusal = FailedCheck(code, inferred.checks);
  if (!inferred.refusal.empty()) return inferred;
  Assignment phases(operands.size());
  AssignLoads(code, work, phases);
  AssignByRank(code, work, phases);
  AssignByNeighbours(code, work, phases);
  for (const Assigned& assigned : phases.all()) {
    inferred.instructions.push_back({PhaseName(assigned.phase), assigned.grade, assigned.reason});
  }
  return inferred;
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
  Work work;
  const auto refuse = [&](std::string why) {
    inferred.instructions.clear();
    inferred.refusal = std::move(why);
    inferred.steps = work.spent();
    return inferred;
  };
  if (function.instructions.empty()) return refuse("it was not disassembled");
  std::vector<Operands> operands;
  operands.reserve(function.instructions.size());
  bool has_exponentials = false;
  for (const Instruction& instruction : function.instructions) {
    operands.push_back(ReadOperands(instruction));
    const std::size_t slots = operands.back().uses.size() + operands.back().definitions.size();
    if (!work.Spend(1 + slots)) return refuse("it is too large");
    has_exponentials = has_exponentials || operands.back().form == Form::kExponential;
  }
  if (!has_exponentials) return refuse("it computes no exponentials (MUFU.EX2)");
  const Flow flow = ReadFlow(function, work);
  if (work.exhausted()) return refuse("its control flow is too large");
  const Values values(operands, flow, work);
  const ForwardEdges forward = WithinOneTile(operands, flow);
  for (const SharedMemoryModel model : {SharedMemoryModel::kEveryStore, SharedMemoryModel::kNewestStore}) {
    InferredPhases result = InferWith(function, operands, flow, forward, values, model, executed, work);
    if (work.exhausted()) return refuse("it is too large");
    if (model == SharedMemoryModel::kEveryStore || result.refusal.empty()) inferred = std::move(result);
    if (inferred.refusal.empty()) break;
  }
  inferred.steps = work.spent();
  return inferred;
}

}  // namespace fa_profile::analyze
