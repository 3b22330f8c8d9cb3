#include "inference/values.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <tuple>
#include <utility>

namespace fa_profile::analyze {
namespace {

using SlotSet = std::bitset<kSlots>;

// What the largest things cost of the budget, by the bytes that they take.
constexpr std::size_t kJoinCost = 64;
constexpr std::size_t kConsumerCost = 16;
constexpr std::size_t kStateCost = 4;

struct BlockSlots {
  SlotSet read_first;  // used before the block defines them
  SlotSet defined;     // in any case
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

  /// Says whether a join was made.
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

  /// The predicate has a new value: what was known under the old one is not known any more.
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
  const std::size_t count = flow.graph.blocks.size();
  SlotSet used;
  for (const Operands& instruction : operands) {
    for (const Use& use : instruction.uses) used.set(use.slot);
    for (const Slot slot : instruction.definitions) used.set(slot);
  }
  std::array<std::uint16_t, kSlots> place{};
  std::vector<Slot> slots;
  for (Slot slot = 0; slot < kSlots; ++slot) {
    if (!used[slot]) continue;
    place[slot] = static_cast<std::uint16_t>(slots.size());
    slots.push_back(slot);
  }
  if (!budget.Spend(kStateCost * count * slots.size())) return;
  const std::vector<BlockSlots> block_slots = Liveness(operands, flow, budget);

  struct PendingJoin {
    std::size_t block;
    std::size_t place;
    std::size_t join;
  };
  std::vector<PendingJoin> pending;
  std::vector<std::vector<Value>> out(count);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> where(instructions_, {0, 0});  // of the uses: begin, end
  for (const std::size_t block : flow.order) {
    std::vector<Value> in(slots.size(), kNoValue);
    const std::vector<std::size_t>& before = flow.value_predecessors[block];
    if (before.size() == 1 && block != 0 && !out[before[0]].empty()) {
      in = out[before[0]];
    } else if (!before.empty()) {
      for (std::size_t i = 0; i < slots.size(); ++i) {
        if (!block_slots[block].live_in[slots[i]]) continue;
        if (!budget.Spend(kJoinCost + before.size())) return;
        pending.push_back({block, i, joins_.size()});
        in[i] = static_cast<Value>(instructions_ + joins_.size());
        order_.push_back(in[i]);
        joins_.emplace_back();
      }
    }
    RegisterState state(std::move(in), place, joins_, instructions_);
    for (std::size_t i = flow.graph.blocks[block].first; i < flow.graph.blocks[block].end; ++i) {
      const Operands& instruction = operands[i];
      where[i].first = static_cast<std::uint32_t>(uses_.size());
      order_.push_back(static_cast<Value>(i));
      const std::size_t joins_before = joins_.size();
      if (!instruction.never) {
        const std::size_t operand_count = instruction.uses.size() + instruction.definitions.size();
        if (!budget.Spend(operand_count * (1 + state.partials()))) return;
        for (const Use& use : instruction.uses) {
          const Value value = state.Read(use, instruction.guard);
          const auto same = [&](const ValueUse& other) { return other.value == value && other.role == use.role; };
          const auto first = uses_.begin() + where[i].first;
          if (value != kNoValue && std::find_if(first, uses_.end(), same) == uses_.end()) {
            uses_.push_back({value, use.slot, use.role});
          }
        }
        for (const Slot slot : instruction.definitions) {
          if (state.Define(slot, static_cast<Value>(i), instruction.guard) && !budget.Spend(kJoinCost)) return;
          if (IsPredicate(slot)) state.Forget(slot);
        }
      }
      for (std::size_t join = joins_before; join < joins_.size(); ++join) {
        order_.push_back(static_cast<Value>(instructions_ + join));
      }
      where[i].second = static_cast<std::uint32_t>(uses_.size());
    }
    out[block] = state.Take();
  }
  for (const PendingJoin& join : pending) {
    for (const std::size_t before : flow.value_predecessors[join.block]) {
      if (!out[before].empty() && out[before][join.place] != kNoValue) {
        joins_[join.join].push_back(out[before][join.place]);
      }
    }
  }
  // In the order of instructions; blocks that never run have no uses.
  std::vector<ValueUse> sorted;
  sorted.reserve(uses_.size());
  first_use_.reserve(instructions_ + 1);
  for (const auto& [begin, end] : where) {
    first_use_.push_back(static_cast<std::uint32_t>(sorted.size()));
    sorted.insert(sorted.end(), uses_.begin() + begin, uses_.begin() + end);
  }
  uses_ = std::move(sorted);
}

// A join of one value, and of itself in a loop, is that value.
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
