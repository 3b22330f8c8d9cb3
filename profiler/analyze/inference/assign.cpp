#include <algorithm>
#include <optional>
#include <string_view>

#include "control_flow.h"
#include "fa_profile/opcodes.h"
#include "fa_profile/profile.h"
#include "inference/groups_left.h"
#include "inference/phases_of_code.h"
#include "mbarrier_waits.h"

namespace fa_profile::analyze {
namespace {

bool IsScoreRank(Rank rank) { return rank == Rank::kPartial || rank == Rank::kScore; }

/// The higher rank of an instruction's inputs and its result.
Rank RankAround(const CodeFacts& code, std::uint32_t i) {
  Rank rank = code.ranks.rank[i];
  for (const ValueUse& use : code.values.UsesOf(i)) {
    if (IsData(use.role)) rank = std::max(rank, code.ranks.rank[use.value]);
  }
  return rank;
}

/// After the last product of a tile, whatever it computes.
bool IsLast(const CodeFacts& code, std::size_t i) { return !code.regions.PrecedesProduct(i); }

/// A memory fence without a product after it: it waits for the stores of the output.
bool IsOutputFence(const CodeFacts& code, std::size_t i) {
  const bool is_fence = sass::ClassOf(code.function.instructions[i].opcode) == sass::OpcodeClass::kFence;
  return is_fence && IsLast(code, i) && code.regions.FollowsProduct(i);
}

void AssignComputation(const CodeFacts& code, std::uint32_t i, Assignment& phases) {
  const bool last = IsLast(code, i);
  switch (code.ranks.computes[i]) {
    case Computes::kQk:
      phases.Set(i, Phase::kQk, InferenceGrade::kDirect, "product");
      break;
    case Computes::kPv:
      phases.Set(i, Phase::kPv, InferenceGrade::kDirect, "product");
      break;
    case Computes::kRescale:
    case Computes::kScale:
      phases.Set(i, last ? Phase::kEpilogue : Phase::kRescale, InferenceGrade::kDirect, "output");
      break;
    case Computes::kSoftmax:
      phases.Set(i, last ? Phase::kEpilogue : Phase::kSoftmax, InferenceGrade::kDirect, "score");
      break;
    case Computes::kExponential:
      phases.Set(i, last ? Phase::kEpilogue : Phase::kSoftmax, InferenceGrade::kDirect, "exponential");
      break;
    case Computes::kNothing:
      break;
  }
}

/// Arithmetic on a value whose rank determines the phase. Copies, and detours through memory, belong to whatever uses
/// them.
void AssignArithmetic(const CodeFacts& code, std::uint32_t i, Assignment& phases) {
  const std::string_view opcode = code.function.instructions[i].opcode;
  const Form form = code.operands[i].form;
  constexpr Form kCarriers[] = {Form::kSharedLoad, Form::kSharedStore,  Form::kLocalLoad,
                                Form::kLocalStore, Form::kSharedAtomic, Form::kTensorStore};
  if (std::ranges::find(kCarriers, form) != std::end(kCarriers) || sass::IsControl(form)) return;
  if (sass::IntegerOpOf(opcode) == sass::IntegerOp::kCopy) return;
  const Rank rank = RankAround(code, i);
  // Lanes that divide the head dimension add up their parts of a score; a maximum may take them too.
  if (rank == Rank::kPartial && form == Form::kShuffle) return;
  const bool last = IsLast(code, i);
  if (IsScoreRank(rank) || rank == Rank::kExponential) {
    phases.Set(i, last ? Phase::kEpilogue : Phase::kSoftmax, InferenceGrade::kDirect, "score");
  } else if (rank == Rank::kOutput && last) {
    phases.Set(i, Phase::kEpilogue, InferenceGrade::kDirect, "output");
  } else if (rank == Rank::kOutput && form == Form::kAdd) {
    phases.Set(i, Phase::kPv, InferenceGrade::kDirect, "output");
  }
}

/// What takes a result out of tensor memory belongs to its product, and so does the arrival of products at an mbarrier,
/// which follows them.
void AssignTensorMemory(const CodeFacts& code, std::uint32_t i, Assignment& phases) {
  const Form form = code.operands[i].form;
  if (form == Form::kTensorLoad && !IsLast(code, i)) {
    for (const std::uint32_t writer : code.memory.sources[i]) {
      if (code.operands[writer].form != Form::kTensorMemory || !phases.Has(writer)) continue;
      phases.Set(i, phases.Of(writer), InferenceGrade::kDerived, "result");
    }
  } else if (form == Form::kTensorCommit) {
    constexpr std::uint32_t kNearby = 64;
    for (std::uint32_t before = i; before-- > 0 && before + kNearby > i;) {
      if (code.operands[before].form != Form::kTensorMemory) continue;
      phases.Set(i, phases.Of(before), InferenceGrade::kDerived, "order");
      break;
    }
    phases.Set(i, Phase::kSync, InferenceGrade::kGuess, "barrier");
  }
}

/// A wait for warpgroup matrix instructions belongs to the product that it waits for, an ordering of them to the next
/// one.
void AssignWarpgroups(const CodeFacts& code, Assignment& phases) {
  std::vector<std::uint32_t> groups;  // the last instruction of each group so far
  std::vector<std::uint32_t> arrivals;
  for (std::uint32_t i = 0; i < code.operands.size(); ++i) {
    const Instruction& instruction = code.function.instructions[i];
    if (code.operands[i].form == Form::kWarpgroupMatrix) {
      for (const std::uint32_t arrival : arrivals) phases.Set(arrival, phases.Of(i), InferenceGrade::kDerived, "order");
      arrivals.clear();
      if (EndsGroup(instruction)) groups.push_back(i);
    } else if (code.operands[i].form == Form::kWarpgroup) {
      if (!sass::WaitsForProducts(instruction.opcode)) {
        arrivals.push_back(i);
        continue;
      }
      const std::size_t left = GroupsLeft(instruction.operands);
      if (left < groups.size())
        phases.Set(i, phases.Of(groups[groups.size() - 1 - left]), InferenceGrade::kDerived, "wait");
    }
  }
}

}  // namespace

std::string_view PhaseName(Phase phase) {
  constexpr std::string_view kNames[kPhases] = {kUnattributed, "load_q",  "load_kv", "sync",     "qk",
                                                "softmax",     "rescale", "pv",      "epilogue", "setup"};
  return kNames[static_cast<std::size_t>(phase)];
}

void AssignByRank(const CodeFacts& code, StepBudget& budget, Assignment& phases) {
  const std::vector<bool> waits = AsyncWaits(code.function);
  for (std::uint32_t i = 0; i < code.operands.size() && budget.Spend(); ++i) {
    const Form form = code.operands[i].form;
    if (code.operands[i].never) continue;
    if (IsOutputFence(code, i)) phases.Set(i, Phase::kEpilogue, InferenceGrade::kDirect, "fence");
    if (sass::IsSync(form)) phases.Set(i, Phase::kSync, InferenceGrade::kDirect, "barrier");
    if (sass::IsGlobalStore(form)) phases.Set(i, Phase::kEpilogue, InferenceGrade::kDirect, "store");
    AssignComputation(code, i, phases);
  }
  for (std::uint32_t i = 0; i < code.operands.size() && budget.Spend(); ++i) {
    if (!phases.Has(i) && !code.operands[i].never) AssignTensorMemory(code, i, phases);
    if (!phases.Has(i)) AssignArithmetic(code, i, phases);
    if (!phases.Has(i) && waits[i]) phases.Set(i, Phase::kSync, InferenceGrade::kDerived, "wait");
  }
  AssignWarpgroups(code, phases);
}

}  // namespace fa_profile::analyze
