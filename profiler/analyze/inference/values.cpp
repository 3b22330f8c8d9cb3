#include "inference/values.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <tuple>
#include <utility>

namespace fa_profile::analyze {
namespace {

using SlotSet = std::bitset<kSlots>;

// The cost of the largest objects in the budget, by their size in bytes.
constexpr std::size_t kJoinCost = 64;
constexpr std::size_t kConsumerCost = 16;
constexpr std::size_t kStateCost = 4;

struct BlockSlots {
  SlotSet read_first;  // used before the block defines them
  SlotSet defined;     // on every path
  SlotSet live_in;
};

BlockSlots SlotsOf(const std::vector<Operands>& operands, const BasicBlock& block) {
  BlockSlots slots;
  for (std::size_t i = block.first; i < block.end; ++i) {
    const Operands& instruction = operands[i];
    if (instruction.never) continue;
    for (const Use& use : instruction.uses) {
      if (!slots.defined[use.slot]) slots.read_first.set(use.slot);
    }
    for (const Slot slot : instruction.definitions) {
      if (!instruction.guard) {
        slots.defined.set(slot);
      } else if (!slots.defined[slot]) {
        slots.read_first.set(slot);  // the old value may stay
      }
    }
  }
  return slots;
}

std::vector<BlockSlots> Liveness(const std::vector<Operands>& operands, const Flow& flow, StepBudget& budget) {
  std::vector<BlockSlots> slots;
  slots.reserve(flow.graph.blocks.size());
  for (const BasicBlock& block : flow.graph.blocks) slots.push_back(SlotsOf(operands, block));
  Edges successors(flow.graph.blocks.size());
  for (std::size_t block = 0; block < successors.size(); ++block) {
    for (const std::size_t before : flow.value_predecessors[block]) successors[before].push_back(block);
  }
  for (bool changed = true; changed && !budget.exhausted();) {
    changed = false;
    for (auto block = flow.order.rbegin(); block != flow.order.rend(); ++block) {
      SlotSet live;
      for (const std::size_t next : successors[*block]) live |= slots[next].live_in;
      if (!budget.Spend(9 * (1 + successors[*block].size()))) break;
      live = (live & ~slots[*block].defined) | slots[*block].read_first;
      if (live != slots[*block].live_in) {
        slots[*block].live_in = live;
        changed = true;
      }
    }
  }
  return slots;
}

/// What each register holds while a block is read from top to bottom.
class RegisterState {
 public:
  RegisterState(std::vector<Value> values, const std::array<std::uint16_t, kSlots>& place,
                std::vector<std::vector<Value>>& joins, std::size_t instructions)
      : values_(std::move(values)), place_(place), joins_(joins), instructions_(instructions) {}

  Value Read(const Use& use, const std::optional<Guard>& guard) const {
    if (guard && use.role != Role::kGuard) {
      for (const Partial& partial : partials_) {
        if (partial.slot == use.slot && partial.guard == *guard) return partial.value;
      }
    }
    return values_[place_[use.slot]];
  }

  /// Returns whether a join was made.
  bool Define(Slot slot, Value value, const std::optional<Guard>& guard) {
    Value& all = values_[place_[slot]];
    if (!guard) {
      all = value;
      std::erase_if(partials_, [&](const Partial& partial) { return partial.slot == slot; });
      return false;
    }
    const Guard other{guard->slot, !guard->negated};
    Value under_other = all;
    for (Partial& partial : partials_) {
      if (partial.slot != slot) continue;
      if (partial.guard == other) {
        under_other = partial.value;
      } else if (!(partial.guard == *guard)) {
        partial.value = Join(partial.value, value);
      }
    }
    Set(slot, *guard, value);
    Set(slot, other, under_other);
    all = Join(value, under_other);
    return true;
  }

  /// The predicate has a new value: what was known under the old one no longer holds.
  void Forget(Slot predicate) {
    std::erase_if(partials_, [&](const Partial& partial) { return partial.guard.slot == predicate; });
  }

  std::size_t partials() const { return partials_.size(); }
  std::vector<Value> Take() { return std::move(values_); }

 private:
  /// What a use under the guard sees.
  struct Partial {
    Slot slot;
    Guard guard;
    Value value;
  };

  void Set(Slot slot, const Guard& guard, Value value) {
    for (Partial& partial : partials_) {
      if (partial.slot == slot && partial.guard == guard) {
        partial.value = value;
        return;
      }
    }
    partials_.push_back({slot, guard, value});
  }

  Value Join(Value a, Value b) {
    if (a == b || b == kNoValue) return a;
    if (a == kNoValue) return b;
    joins_.push_back({a, b});
    return static_cast<Value>(instructions_ + joins_.size() - 1);
  }

  std::vector<Value> values_;
  const std::array<std::uint16_t, kSlots>& place_;
  std::vector<std::vector<Value>>& joins_;
  std::size_t instructions_;
  std::vector<Partial> partials_;
};

/// Follows what registers hold through the blocks of a function.
class DefinitionReader {
 public:
  DefinitionReader(const std::vector<Operands>& operands, const Flow& flow, StepBudget& budget)
      : operands_(operands), flow_(flow), budget_(budget), after_(flow.graph.blocks.size()), uses_of_(operands.size()) {
    SlotSet used;
    for (const Operands& instruction : operands) {
      for (const Use& use : instruction.uses) used.set(use.slot);
      for (const Slot slot : instruction.definitions) used.set(slot);
    }
    for (Slot slot = 0; slot < kSlots; ++slot) {
      if (!used[slot]) continue;
      place_[slot] = static_cast<std::uint16_t>(slots_.size());
      slots_.push_back(slot);
    }
  }

  /// False: the budget is exhausted, and what was found is incomplete.
  bool Read() {
    if (!budget_.Spend(kStateCost * after_.size() * slots_.size())) return false;
    const std::vector<BlockSlots> block_slots = Liveness(operands_, flow_, budget_);
    for (const std::size_t block : flow_.order) {
      std::vector<Value> before(slots_.size(), kNoValue);
      if (!ValuesBefore(block, block_slots[block].live_in, before)) return false;
      RegisterState state(std::move(before), place_, joins, operands_.size());
      for (std::size_t i = flow_.graph.blocks[block].first; i < flow_.graph.blocks[block].end; ++i) {
        if (!ReadInstruction(i, state)) return false;
      }
      after_[block] = state.Take();
    }
    FillJoins();
    SortUses();
    return true;
  }

  // What Values keeps.
  std::vector<Value> order;
  std::vector<std::vector<Value>> joins;
  std::vector<ValueUse> uses;
  std::vector<std::uint32_t> first_use;

 private:
  // A join of the values that earlier blocks leave, filled in once all of them were read.
  struct PendingJoin {
    std::size_t block;
    std::size_t place;
    std::size_t join;
  };

  Value JoinValue(std::size_t join) const { return static_cast<Value>(operands_.size() + join); }

  bool ValuesBefore(std::size_t block, const SlotSet& live, std::vector<Value>& values) {
    const std::vector<std::size_t>& before = flow_.value_predecessors[block];
    if (before.size() == 1 && block != 0 && !after_[before[0]].empty()) {
      values = after_[before[0]];
      return true;
    }
    for (std::size_t place = 0; place < slots_.size() && !before.empty(); ++place) {
      if (!live[slots_[place]]) continue;
      if (!budget_.Spend(kJoinCost + before.size())) return false;
      pending_.push_back({block, place, joins.size()});
      values[place] = JoinValue(joins.size());
      order.push_back(values[place]);
      joins.emplace_back();
    }
    return true;
  }

  bool ReadInstruction(std::size_t index, RegisterState& state) {
    const Operands& instruction = operands_[index];
    uses_of_[index].begin = static_cast<std::uint32_t>(uses.size());
    order.push_back(static_cast<Value>(index));
    const std::size_t joins_before = joins.size();
    if (!instruction.never) {
      const std::size_t operand_count = instruction.uses.size() + instruction.definitions.size();
      if (!budget_.Spend(operand_count * (1 + state.partials()))) return false;
      for (const Use& use : instruction.uses) AddUse(index, use, state.Read(use, instruction.guard));
      for (const Slot slot : instruction.definitions) {
        if (state.Define(slot, static_cast<Value>(index), instruction.guard) && !budget_.Spend(kJoinCost)) return false;
        if (IsPredicate(slot)) state.Forget(slot);
      }
    }
    for (std::size_t join = joins_before; join < joins.size(); ++join) order.push_back(JoinValue(join));
    uses_of_[index].end = static_cast<std::uint32_t>(uses.size());
    return true;
  }

  // Several registers of one value are one use in each role.
  void AddUse(std::size_t index, const Use& use, Value value) {
    const auto same = [&](const ValueUse& other) { return other.value == value && other.role == use.role; };
    const auto first = uses.begin() + uses_of_[index].begin;
    if (value != kNoValue && std::find_if(first, uses.end(), same) == uses.end()) {
      uses.push_back({value, use.slot, use.role});
    }
  }

  void FillJoins() {
    for (const PendingJoin& join : pending_) {
      for (const std::size_t before : flow_.value_predecessors[join.block]) {
        if (after_[before].empty() || after_[before][join.place] == kNoValue) continue;
        joins[join.join].push_back(after_[before][join.place]);
      }
    }
  }

  // In the order of instructions; blocks that never run have no uses.
  void SortUses() {
    std::vector<ValueUse> sorted;
    sorted.reserve(uses.size());
    first_use.reserve(operands_.size() + 1);
    for (const auto& [begin, end] : uses_of_) {
      first_use.push_back(static_cast<std::uint32_t>(sorted.size()));
      sorted.insert(sorted.end(), uses.begin() + begin, uses.begin() + end);
    }
    uses = std::move(sorted);
  }

  struct Range {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };

  const std::vector<Operands>& operands_;
  const Flow& flow_;
  StepBudget& budget_;
  std::array<std::uint16_t, kSlots> place_{};  // place of a slot in slots_
  std::vector<Slot> slots_;                    // those that the function uses
  std::vector<PendingJoin> pending_;
  std::vector<std::vector<Value>> after_;  // by block and place; empty: not read yet
  std::vector<Range> uses_of_;             // by instruction, range in `uses`
};

}  // namespace

Values::Values(const std::vector<Operands>& operands, const Flow& flow, StepBudget& budget)
    : instructions_(operands.size()) {
  if (!flow.order.empty()) ReadDefinitions(operands, flow, budget);
  first_use_.resize(instructions_ + 1, static_cast<std::uint32_t>(uses_.size()));
  if (!budget.exhausted()) DropTrivialJoins(budget);
  first_consumer_.resize(instructions_ + 1, 0);
  if (!budget.exhausted()) FindConsumers(budget);
}

void Values::ReadDefinitions(const std::vector<Operands>& operands, const Flow& flow, StepBudget& budget) {
  DefinitionReader reader(operands, flow, budget);
  (void)reader.Read();  // the budget shows whether something is missing
  order_ = std::move(reader.order);
  joins_ = std::move(reader.joins);
  uses_ = std::move(reader.uses);
  first_use_ = std::move(reader.first_use);
}

// A join of one value, or of one value and itself in a loop, is that value.
void Values::DropTrivialJoins(StepBudget& budget) {
  std::vector<Value> same(joins_.size());
  for (std::size_t i = 0; i < joins_.size(); ++i) same[i] = static_cast<Value>(instructions_ + i);
  const auto resolve = [&](Value value) {
    while (IsJoin(value) && same[value - instructions_] != value) {
      Value& next = same[value - instructions_];
      if (IsJoin(next)) next = same[next - instructions_];  // shortens the way for the next time
      value = next;
    }
    return value;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < joins_.size(); ++i) {
      const auto self = static_cast<Value>(instructions_ + i);
      if (same[i] != self) continue;
      if (!budget.Spend(1 + joins_[i].size())) return;
      Value only = kNoValue;
      bool several = false;
      for (const Value input : joins_[i]) {
        const Value value = resolve(input);
        if (value == self || value == only) continue;
        if (only != kNoValue) {
          several = true;
          break;
        }
        only = value;
      }
      if (several || only == kNoValue) continue;
      same[i] = only;
      changed = true;
    }
  }
  for (std::vector<Value>& inputs : joins_) {
    for (Value& input : inputs) input = resolve(input);
    std::ranges::sort(inputs);
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  }
  for (ValueUse& use : uses_) use.value = resolve(use.value);
}

std::span<const ValueUse> Values::UsesOf(std::size_t instruction) const {
  return std::span(uses_).subspan(first_use_[instruction], first_use_[instruction + 1] - first_use_[instruction]);
}

std::vector<std::uint32_t> Values::DefinitionsOf(Value value, StepBudget& budget) const {
  if (value == kNoValue) return {};
  if (!IsJoin(value)) return {value};
  std::vector<std::uint32_t> definitions;
  std::vector<bool> seen(size());
  seen[value] = true;
  std::vector<Value> pending{value};
  while (!pending.empty()) {
    const Value join = pending.back();
    pending.pop_back();
    for (const Value input : InputsOf(join)) {
      if (!budget.Spend(10) || seen[input]) continue;
      seen[input] = true;
      if (IsJoin(input)) {
        pending.push_back(input);
      } else {
        definitions.push_back(input);
      }
    }
  }
  std::ranges::sort(definitions);
  return definitions;
}

void Values::FindConsumers(StepBudget& budget) {
  std::vector<std::pair<std::uint32_t, Consumer>> found;
  for (std::uint32_t i = 0; i < instructions_; ++i) {
    for (const ValueUse& use : UsesOf(i)) {
      for (const std::uint32_t definition : DefinitionsOf(use.value, budget)) {
        if (!budget.Spend(kConsumerCost)) return;
        found.push_back({definition, {i, use.role}});
      }
    }
  }
  const auto key = [](const auto& item) { return std::tuple(item.first, item.second.instruction, item.second.role); };
  std::ranges::sort(found, {}, key);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i > 0 && key(found[i]) == key(found[i - 1])) continue;
    consumers_.push_back(found[i].second);
    first_consumer_[found[i].first + 1] = static_cast<std::uint32_t>(consumers_.size());
  }
  for (std::size_t i = 1; i <= instructions_; ++i) {
    first_consumer_[i] = std::max(first_consumer_[i], first_consumer_[i - 1]);
  }
}

std::span<const Consumer> Values::ConsumersOf(std::size_t instruction) const {
  return std::span(consumers_)
      .subspan(first_consumer_[instruction], first_consumer_[instruction + 1] - first_consumer_[instruction]);
}

}  // namespace fa_profile::analyze
