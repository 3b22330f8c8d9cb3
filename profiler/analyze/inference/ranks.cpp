#include "inference/ranks.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace fa_profile::analyze {
namespace {

struct Step {
  Rank rank = Rank::kNone;
  Computes computes = Computes::kNothing;
};

bool IsScore(Rank rank) { return rank == Rank::kPartial || rank == Rank::kScore; }

/// Ranks of the three data operands, the highest of what may reach each.
struct OperandRanks {
  std::array<Rank, 3> of{};
  Rank highest() const { return std::max({of[0], of[1], of[2]}); }
};

class RankFinder {
 public:
  RankFinder(const DeviceFunction& function, const std::vector<Operands>& operands, const Values& values,
             const Memory& memory, StepBudget& budget)
      : function_(function), operands_(operands), values_(values), memory_(memory), budget_(budget) {
    const auto has = [&](auto... forms) {
      return std::ranges::any_of(operands, [&](const Operands& o) { return ((o.form == forms) || ...); });
    };
    has_tensor_memory_ = has(Form::kTensorMemory);
    has_matrix_ = has_tensor_memory_ || has(Form::kMatrix, Form::kWarpgroupMatrix);
    has_bulk_copies_ = has(Form::kBulkLoad);
    not_qk_.resize(operands.size(), false);
    selects_greater_.reserve(operands.size());
    is_square_.reserve(operands.size());
    for (std::uint32_t i = 0; i < operands.size(); ++i) {
      selects_greater_.push_back(SelectsOneOfCompared(i));
      is_square_.push_back(IsSquare(i));
    }
  }

  Ranks Find() {
    ToFixedPoint();
    // A product of two loaded values must reach an exponential to be a score. With P in shared memory for a warpgroup
    // matrix instruction, it is PV.
    std::vector<bool> reaching = ReachingExponentials();
    if (has_tensor_memory_) DropDetours(reaching);
    bool any_not_qk = false;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (ranks_.computes[i] != Computes::kQk || reaching[i]) continue;
      not_qk_[i] = true;
      any_not_qk = true;
    }
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      matrix_pv_ = matrix_pv_ || (ranks_.computes[i] == Computes::kPv && operands_[i].form != Form::kMultiply);
    }
    if (any_not_qk || matrix_pv_) ToFixedPoint();
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const bool is_maximum =
          (operands_[i].form == Form::kMaximum || selects_greater_[i]) && ranks_.computes[i] == Computes::kSoftmax;
      ranks_.has_running_maximum = ranks_.has_running_maximum || (is_maximum && reaching[i]);
      ranks_.has_any_maximum = ranks_.has_any_maximum || (reaching[i] && IsMaximumOfTwo(static_cast<std::uint32_t>(i)));
    }
    ranks_.reaches_no_exponential = std::move(not_qk_);
    return std::move(ranks_);
  }

 private:
  void ToFixedPoint() {
    // A rank may fall again while those around it are being found, so at first each round starts from the operands
    // alone. Ranks that still change then are in a cycle, and may only rise.
    constexpr int kFreeRounds = 20;
    constexpr int kMostRounds = 60;
    ranks_.rank.assign(values_.size(), Rank::kNone);
    ranks_.computes.assign(operands_.size(), Computes::kNothing);
    for (int round = 0; round < kMostRounds; ++round) {
      bool changed = false;
      for (const Value value : values_.order()) {
        if (!budget_.Spend()) return;
        Step step = values_.IsJoin(value) ? Step{RankOfJoin(value)} : RankOfInstruction(value);
        if (round >= kFreeRounds) step.rank = std::max(step.rank, ranks_.rank[value]);
        changed = changed || step.rank != ranks_.rank[value];
        ranks_.rank[value] = step.rank;
        if (!values_.IsJoin(value)) ranks_.computes[value] = step.computes;
      }
      if (!changed) return;
    }
  }

  Rank RankOfJoin(Value join) {
    Rank rank = Rank::kNone;
    budget_.Spend(values_.InputsOf(join).size());
    for (const Value input : values_.InputsOf(join)) rank = std::max(rank, ranks_.rank[input]);
    return rank;
  }

  OperandRanks Inputs(std::uint32_t instruction) {
    OperandRanks inputs;
    const auto uses = values_.UsesOf(instruction);
    budget_.Spend(uses.size());
    for (const ValueUse& use : uses) {
      if (!IsData(use.role)) continue;
      Rank& rank = inputs.of[static_cast<std::size_t>(use.role)];
      rank = std::max(rank, ranks_.rank[use.value]);
    }
    return inputs;
  }

  /// "a > b ? a : b": a maximum in two instructions, a comparison and a selection by its predicate.
  bool SelectsOneOfCompared(std::uint32_t instruction) {
    if (sass::IntegerOpOf(function_.instructions[instruction].opcode) != sass::IntegerOp::kSelect) return false;
    std::array<ValueUse, 2> chosen;
    Value predicate = kNoValue;
    const auto uses = values_.UsesOf(instruction);
    budget_.Spend(uses.size());
    for (const ValueUse& use : uses) {
      if (use.role == Role::kSelect) predicate = use.value;
      if (use.role <= Role::kB) chosen[static_cast<std::size_t>(use.role)] = use;
    }
    const bool known = predicate != kNoValue && !values_.IsJoin(predicate);
    if (!known || operands_[predicate].form != Form::kCompare) return false;
    const auto compared = values_.UsesOf(predicate);
    return std::ranges::all_of(chosen, [&](const ValueUse& one) {
      return one.value != kNoValue && std::ranges::any_of(compared, [&](const ValueUse& use) {
               return use.role <= Role::kB && use.value == one.value && use.slot == one.slot;
             });
    });
  }

  /// What a factor is made from by signs and constant factors alone.
  ValueUse Unscaled(ValueUse factor) {
    while (factor.value != kNoValue && !values_.IsJoin(factor.value) && budget_.Spend()) {
      const Form form = operands_[factor.value].form;
      const auto uses = values_.UsesOf(factor.value);
      if ((form != Form::kMultiply && form != Form::kAdd) || uses.size() != 1 || !IsData(uses[0].role)) break;
      factor = uses[0];
    }
    return factor;
  }

  /// A scalar product of a value and itself, as in a distance: "(a - b) * (a - b)", also "((a - b) * 0.5) * (a - b)".
  bool IsSquare(std::uint32_t instruction) {
    if (operands_[instruction].form != Form::kMultiply) return false;
    std::array<ValueUse, 2> factors;
    for (const ValueUse& use : values_.UsesOf(instruction)) {
      if (use.role <= Role::kB) factors[static_cast<std::size_t>(use.role)] = Unscaled(use);
    }
    return factors[0].value != kNoValue && factors[0].value == factors[1].value && factors[0].slot == factors[1].slot;
  }

  /// A maximum of two values, not of one and a constant, which clamps.
  bool IsMaximumOfTwo(std::uint32_t instruction) {
    if (selects_greater_[instruction]) return true;
    if (operands_[instruction].form != Form::kMaximum) return false;
    const auto uses = values_.UsesOf(instruction);
    return std::ranges::count_if(uses, [](const ValueUse& use) { return IsData(use.role); }) > 1;
  }

  Step RankOfInstruction(std::uint32_t instruction) {
    const OperandRanks in = Inputs(instruction);
    const Rank highest = in.highest();
    if (selects_greater_[instruction] && IsScore(highest)) return {Rank::kScore, Computes::kSoftmax};
    switch (operands_[instruction].form) {
      case Form::kGlobalLoad:
      case Form::kAsyncCopy:
      case Form::kBulkLoad:
      case Form::kTensorCopy:
        return {Rank::kGlobal};
      case Form::kSharedLoad:
      case Form::kLocalLoad:
      case Form::kTensorLoad:
        return {RankOfLoad(instruction)};
      case Form::kSharedStore:
      case Form::kLocalStore:
      case Form::kTensorStore:
        return {in.of[0]};
      case Form::kMatrix:
      case Form::kWarpgroupMatrix:
      case Form::kMultiply:
        return RankOfProduct(instruction, in);
      case Form::kTensorMemory:
        return RankOfProduct(instruction, {{HighestOf(memory_.sources[instruction]), Rank::kGlobal,
                                            HighestOf(memory_.sums[instruction])}});
      case Form::kExponential:
        // Others belong to no score: the frequencies of a rotary embedding, a bias by distance.
        return highest >= Rank::kPartial ? Step{Rank::kExponential, Computes::kExponential} : Step{highest};
      case Form::kAdd:
        if (in.of[0] == Rank::kPartial && in.of[1] == Rank::kPartial) return {Rank::kPartial, Computes::kQk};
        return {highest};
      case Form::kMaximum:
        return IsScore(highest) ? Step{Rank::kScore, Computes::kSoftmax} : Step{highest};
      case Form::kAddress:
      case Form::kCompare:
      case Form::kSharedAtomic:
        return {};
      default:
        return {highest};
    }
  }

  Rank RankOfLoad(std::uint32_t load) {
    const std::vector<std::uint32_t>& stores = memory_.sources[load];
    if (stores.empty()) {
      // Written by a bulk copy, or by code that is not understood; LDSM loads tiles of matrices.
      const bool is_tile =
          has_bulk_copies_ || sass::ClassOf(function_.instructions[load].opcode) == sass::OpcodeClass::kMatrixLoad;
      return operands_[load].form == Form::kSharedLoad && is_tile ? Rank::kGlobal : Rank::kNone;
    }
    return HighestOf(stores);
  }

  Rank HighestOf(const std::vector<std::uint32_t>& writers) {
    Rank rank = Rank::kNone;
    budget_.Spend(writers.size());
    for (const std::uint32_t writer : writers) rank = std::max(rank, ranks_.rank[writer]);
    return rank;
  }

  Step RankOfProduct(std::uint32_t instruction, const OperandRanks& in) const {
    const Form form = operands_[instruction].form;
    const bool is_matrix = form != Form::kMultiply;
    Rank a = in.of[0];
    Rank b = in.of[1];
    const Rank c = in.of[2];
    if (is_matrix) {  // tiles of matrices come from somewhere
      a = std::max(a, Rank::kGlobal);
      b = std::max(b, Rank::kGlobal);
      if (form == Form::kWarpgroupMatrix || form == Form::kTensorMemory) b = Rank::kGlobal;
    }
    const Rank low = std::min(a, b);
    const Rank high = std::max(a, b);
    if (low == Rank::kGlobal && high == Rank::kGlobal) {
      // If there are matrix instructions, this is a rotary embedding, or scaling by something loaded. A square belongs
      // to a distance or a norm: Q and K are two things.
      if ((has_matrix_ && !is_matrix) || is_square_[instruction]) return {std::max(c, Rank::kGlobal)};
      if (not_qk_[instruction])
        return is_matrix ? Step{Rank::kOutput, Computes::kPv} : Step{std::max(c, Rank::kGlobal)};
      if (c == Rank::kOutput) return {Rank::kOutput, Computes::kPv};
      return {Rank::kPartial, Computes::kQk};
    }
    if (matrix_pv_ && !is_matrix && high == Rank::kExponential && low == Rank::kGlobal) {
      return {std::max(c, Rank::kExponential), Computes::kSoftmax};  // scaling by something loaded
    }
    if (high == Rank::kExponential && low == Rank::kGlobal) return {Rank::kOutput, Computes::kPv};
    // Exponentials computed without MUFU, or whose rank was lost.
    if (is_matrix && IsScore(high) && low == Rank::kGlobal) return {Rank::kOutput, Computes::kPv};
    if (is_matrix && high == Rank::kOutput) return {Rank::kOutput, Computes::kPv};
    if (high == Rank::kOutput) {
      return {Rank::kOutput, low == Rank::kExponential ? Computes::kRescale : Computes::kScale};
    }
    if (c == Rank::kOutput) return {Rank::kOutput, matrix_pv_ ? Computes::kScale : Computes::kPv};
    if (IsScore(high)) return {std::max(Rank::kScore, c), Computes::kSoftmax};
    const Rank highest = in.highest();
    const bool softmax = IsScore(highest) || highest == Rank::kExponential;
    return {highest, softmax ? Computes::kSoftmax : Computes::kNothing};
  }

  /// Scores go from tensor memory to registers and there to exponentials. If some products do, others that only seem
  /// to, through shared memory, are outputs: blocks of a cluster that divide the keys exchange them there.
  void DropDetours(std::vector<bool>& reaching) {
    const auto is_qk = [&](std::size_t i) {
      return operands_[i].form == Form::kTensorMemory && ranks_.computes[i] == Computes::kQk;
    };
    const std::vector<bool> direct = ReachingExponentials(false);
    bool some = false;
    for (std::size_t i = 0; i < operands_.size(); ++i) some = some || (is_qk(i) && direct[i]);
    for (std::size_t i = 0; some && i < operands_.size(); ++i) {
      if (is_qk(i)) reaching[i] = direct[i];
    }
  }

  /// By instruction: whether an exponential is made from its result. For a product of scores only the sum that it adds
  /// to is followed further back: its factors are loaded.
  std::vector<bool> ReachingExponentials(bool through_shared_memory = true) {
    std::vector<bool> reaching(operands_.size(), false);
    std::vector<bool> seen(values_.size(), false);
    std::vector<Value> pending;
    const auto add = [&](Value value) {
      if (value == kNoValue || seen[value]) return;
      seen[value] = true;
      pending.push_back(value);
    };
    for (std::uint32_t i = 0; i < operands_.size(); ++i) {
      if (ranks_.computes[i] == Computes::kExponential) add(i);
    }
    while (!pending.empty() && budget_.Spend()) {
      const Value value = pending.back();
      pending.pop_back();
      if (values_.IsJoin(value)) {
        budget_.Spend(values_.InputsOf(value).size());
        for (const Value input : values_.InputsOf(value)) add(input);
        continue;
      }
      reaching[value] = true;
      const bool only_sum = ranks_.computes[value] == Computes::kQk && operands_[value].form != Form::kAdd &&
                            operands_[value].form != Form::kMultiply;
      const auto uses = values_.UsesOf(value);
      budget_.Spend(uses.size() + memory_.sources[value].size());
      for (const ValueUse& use : uses) {
        if (only_sum ? use.role == Role::kC : IsData(use.role)) add(use.value);
      }
      for (const std::uint32_t store : memory_.sums[value]) add(store);
      if (only_sum || (!through_shared_memory && operands_[value].form == Form::kSharedLoad)) continue;
      for (const std::uint32_t store : memory_.sources[value]) add(store);
    }
    return reaching;
  }

  const DeviceFunction& function_;
  const std::vector<Operands>& operands_;
  const Values& values_;
  const Memory& memory_;
  StepBudget& budget_;
  Ranks ranks_;
  std::vector<bool> not_qk_;
  std::vector<bool> selects_greater_;  // by instruction
  std::vector<bool> is_square_;        // by instruction
  bool has_matrix_ = false;
  bool has_tensor_memory_ = false;
  bool matrix_pv_ = false;  // if so, only matrix instructions are PV
  bool has_bulk_copies_ = false;
};

}  // namespace

Ranks FindRanks(const DeviceFunction& function, const std::vector<Operands>& operands, const Values& values,
                const Memory& memory, StepBudget& budget) {
  return RankFinder(function, operands, values, memory, budget).Find();
}

}  // namespace fa_profile::analyze
