#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "inference/flow.h"
#include "inference/operands.h"
#include "inference/step_budget.h"

namespace fa_profile::analyze {

/// A value: below the number of instructions, that instruction's result; from there on a join of other values, where
/// paths meet or a predicated definition leaves the old value in place.
using Value = std::uint32_t;
inline constexpr Value kNoValue = static_cast<Value>(-1);  ///< what a register holds at the function's entry

struct ValueUse {
  Value value = kNoValue;
  Slot slot = 0;
  Role role = Role::kA;
};

struct Consumer {
  std::uint32_t instruction = 0;
  Role role = Role::kA;
};

/// Which definition reaches which use.
///
/// Predicates are understood inside a basic block: after "@P0 MOV R1, R2" a use under @P0 sees the new value, one under
/// @!P0 the old one, any other both, until P0 is defined again. Without this, values of the last round of a loop seem
/// to reach code that never sees them.
class Values {
 public:
  /// Incomplete when `budget` is exhausted.
  Values(const std::vector<Operands>& operands, const Flow& flow, StepBudget& budget);

  std::size_t instructions() const { return instructions_; }
  std::size_t size() const { return instructions_ + joins_.size(); }

  /// Uses by an instruction, several registers of one value once for each role.
  std::span<const ValueUse> UsesOf(std::size_t instruction) const;

  /// All values of code that runs, in code order: each after what it is made from, except in loops.
  std::span<const Value> order() const { return order_; }

  /// The values that a join combines.
  std::span<const Value> InputsOf(Value join) const { return joins_[join - instructions_]; }
  bool IsJoin(Value value) const { return value != kNoValue && value >= instructions_; }

  /// The instructions that define a value, through joins. Sorted.
  std::vector<std::uint32_t> DefinitionsOf(Value value, StepBudget& budget) const;

  /// The instructions that use an instruction's result, through joins, each once for each role.
  std::span<const Consumer> ConsumersOf(std::size_t instruction) const;

 private:
  void ReadDefinitions(const std::vector<Operands>& operands, const Flow& flow, StepBudget& budget);
  void DropTrivialJoins(StepBudget& budget);
  void FindConsumers(StepBudget& budget);

  std::size_t instructions_;
  std::vector<Value> order_;
  std::vector<std::vector<Value>> joins_;
  std::vector<ValueUse> uses_;
  std::vector<std::uint32_t> first_use_;  // by instruction, and the end
  std::vector<Consumer> consumers_;
  std::vector<std::uint32_t> first_consumer_;
};

}  // namespace fa_profile::analyze
