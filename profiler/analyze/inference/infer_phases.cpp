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

/// Counts, or ten per loop around an instruction.
std::vector<double> RunWeights(const Flow& flow, const std::vector<double>& executed) {
  if (!executed.empty()) return executed;
  constexpr int kDeepestLoop = 4;
  std::vector<double> weights;
  weights.reserve(flow.graph.loop_depth.size());
  for (const int depth : flow.graph.loop_depth) weights.push_back(std::pow(10.0, std::min(depth, kDeepestLoop)));
  return weights;
}

/// How far the checks got: a model of shared memory that gets further describes the kernel better.
enum class Progress : std::uint8_t { kNotAttention, kOneProduct, kProducts, kLoop, kRatio, kConfused, kPassed };

struct Attempt {
  InferredPhases inferred;
  Progress progress = Progress::kNotAttention;
  std::vector<bool> over_tiles;  ///< if no key loop was found: the loops over tiles, by what they store
};

/// Without a maximum of scores, a model that finds more products may have found them in something else: it must pass.
Progress ProgressOf(const InferredPhases& refused, bool has_running_maximum) {
  const std::string_view word = refused.refusal_word;
  if (word == "backward") return Progress::kRatio;
  if (word == "other" || !has_running_maximum) return Progress::kNotAttention;
  if (word == "loop") return Progress::kLoop;
  if (word == "ratio") return Progress::kRatio;
  return refused.checks.qk_to_pv_ratio.value_or(0.0) > 0.0 ? Progress::kProducts : Progress::kOneProduct;
}

/// The starting point of every attempt. Nothing is owned.
struct Code {
  const DeviceFunction& function;
  const std::vector<Operands>& operands;
  const Flow& flow;
  const Values& values;
  const TensorMemory& tensor;
  const std::vector<std::optional<double>>& rounds;
  const std::vector<double>& executed;
};

Attempt InferWith(const Code& known, const std::vector<bool>& over_tiles, const ForwardEdges& forward,
                  SharedMemoryModel model, StepBudget& budget) {
  const auto& [function, operands, flow, values, tensor, rounds, executed] = known;
  const Memory memory = ReadMemory(function, operands, flow, forward.successors, values, tensor, model, budget);
  const Ranks ranks = FindRanks(function, operands, values, memory, budget);
  const ForwardEdges edges =
      tensor.used ? WithSharedProbabilities(forward, operands, flow, over_tiles, memory, ranks, budget) : forward;
  const Regions regions(flow, over_tiles, edges, ranks, tensor, budget);
  const StaticRounds static_rounds = CountRounds(flow, rounds, ranks, budget);
  const std::vector<double> weights = RunWeights(flow, executed);
  const CodeFacts code{function, operands, flow, values, tensor, memory, ranks, regions, static_rounds, weights};
  InferredPhases inferred;
  inferred.checks = CheckPhases(code, executed, budget);
  Refusal refusal = FailedCheck(code, inferred.checks, budget);
  inferred.refusal = std::move(refusal.why);
  inferred.refusal_word = refusal.word;
  if (!inferred.refusal.empty()) {
    const Progress progress = ProgressOf(inferred, ranks.has_running_maximum);
    std::vector<bool> by_stores;
    if (progress == Progress::kLoop) by_stores = WithoutKeyLoops(over_tiles, operands, flow, values, ranks, budget);
    return {std::move(inferred), progress, std::move(by_stores)};
  }
  Assignment phases(operands.size());
  AssignLoads(code, budget, phases);
  AssignByRank(code, budget, phases);
  AssignByNeighbours(code, budget, phases);
  for (const Assigned& assigned : phases.all()) {
    inferred.instructions.push_back({PhaseName(assigned.phase), assigned.grade, assigned.reason});
  }
  inferred.tile = ReadKeyTile(code, phases, budget);
  // It passes the checks, but exponentials of the output show that something in shared memory was confused.
  return {std::move(inferred), ExponentialOfOutput(code) ? Progress::kConfused : Progress::kPassed, {}};
}

/// Uses the model of shared memory that gets furthest.
Attempt InferWithin(const Code& known, const std::vector<bool>& over_tiles, StepBudget& budget) {
  const ForwardEdges forward = WithinOneTile(known.flow, over_tiles, known.tensor);
  Attempt best;
  for (const SharedMemoryModel model :
       {SharedMemoryModel::kEveryStore, SharedMemoryModel::kNewestStore, SharedMemoryModel::kNewestOfAll}) {
    Attempt attempt = InferWith(known, over_tiles, forward, model, budget);
    if (budget.exhausted()) return best;
    if (model == SharedMemoryModel::kEveryStore || attempt.progress > best.progress) best = std::move(attempt);
    if (best.progress == Progress::kPassed) break;
  }
  return best;
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
  const std::vector<std::optional<double>> rounds = ReadRounds(function, operands, flow, values, budget);
  const TensorMemory tensor = ReadTensorMemory(function, operands, flow, values, budget);
  const Code known{function, operands, flow, values, tensor, rounds, executed};
  const std::vector<bool> over_tiles = LoopsOverTiles(operands, flow, tensor);
  Attempt best = InferWithin(known, over_tiles, budget);
  if (best.progress == Progress::kLoop && !budget.exhausted() && best.over_tiles != over_tiles) {
    Attempt again = InferWithin(known, best.over_tiles, budget);
    if (again.progress > best.progress) best = std::move(again);
  }
  if (budget.exhausted()) return refuse({"size", "it is too large"});
  inferred = std::move(best.inferred);
  inferred.steps = budget.spent();
  return inferred;
}

}  // namespace fa_profile::analyze
