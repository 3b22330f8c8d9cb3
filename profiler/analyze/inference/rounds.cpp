#include "inference/rounds.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "fa_profile/opcodes.h"

namespace fa_profile::analyze {
namespace {

constexpr int kMostRounds = 1 << 16;

std::optional<std::int64_t> IntegerConstant(std::string_view text) {
  if (text == "RZ" || text == "URZ" || text == "SRZ") return 0;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (!text.starts_with("0x")) return std::nullopt;
  std::uint32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + 2, end, value, 16);
  if (error != std::errc{} || rest != end) return std::nullopt;
  const auto number = static_cast<std::int64_t>(static_cast<std::int32_t>(value));
  return negative ? -number : number;
}

bool IsTrue(std::string_view text) { return text == "PT" || text == "UPT"; }

/// Compares as 32-bit numbers.
bool HoldsFor(const sass::IntegerComparison& comparison, std::int64_t left, std::int64_t right) {
  const auto widened = [&](std::int64_t value) {
    return comparison.is_unsigned ? std::int64_t{static_cast<std::uint32_t>(value)}
                                  : std::int64_t{static_cast<std::int32_t>(value)};
  };
  const std::int64_t a = widened(left);
  const std::int64_t b = widened(right);
  return a < b ? comparison.less : a == b ? comparison.equal : comparison.greater;
}

class RoundsReader {
 public:
  RoundsReader(const DeviceFunction& function, const std::vector<Operands>& operands, const Flow& flow,
               const Values& values, StepBudget& budget)
      : function_(function), operands_(operands), flow_(flow), values_(values), budget_(budget) {}

  std::optional<double> RoundsOf(const Loop& loop) {
    const auto exit = ExitOf(loop);
    if (!exit) return std::nullopt;
    const auto compare = ComparisonOf(*exit);
    if (!compare) return std::nullopt;
    const Instruction& text = function_.instructions[*compare];
    const auto comparison = sass::ReadIntegerComparison(text.opcode);
    const std::vector<std::string_view> parts = SplitOperands(text.operands);
    // "P0, PT, R4, 0x10, PT": any other last operand is a second condition.
    constexpr std::size_t kOperands = 5;
    if (!comparison || operands_[*compare].guard || parts.size() != kOperands || !IsTrue(parts[1]) ||
        !IsTrue(parts[4])) {
      return std::nullopt;
    }
    const auto counter = CounterOf(loop, *compare, parts[2]);
    const auto bound = ConstantAt(*compare, parts[3]);
    if (!counter || !bound) return std::nullopt;
    const bool goes_on = GoesOnWhenTrue(loop, *exit);
    std::int64_t value = counter->first;
    for (int rounds = 1; rounds <= kMostRounds && budget_.Spend(); ++rounds) {
      const std::int64_t compared = counter->compared_behind ? value + counter->step : value;
      if (HoldsFor(*comparison, compared, *bound) != goes_on) return rounds;
      value += counter->step;
    }
    return std::nullopt;
  }

 private:
  struct Counter {
    std::int64_t first = 0;
    std::int64_t step = 0;
    bool compared_behind = false;  // the step comes before the comparison
  };

  static bool Holds(const Loop& loop, std::size_t block) { return std::ranges::binary_search(loop.blocks, block); }

  /// The branch that leaves the loop. Nothing if a round may miss it, or if the loop has another exit.
  std::optional<std::uint32_t> ExitOf(const Loop& loop) {
    std::optional<std::size_t> exit;
    for (const std::size_t block : loop.blocks) {
      const BasicBlock& code = flow_.graph.blocks[block];
      if (!budget_.Spend(1 + code.end - code.first)) return std::nullopt;
      for (std::size_t i = code.first; i < code.end; ++i) {
        if (sass::IsEnd(operands_[i].form)) return std::nullopt;
      }
      const bool leaves = std::ranges::any_of(flow_.successors[block], [&](auto next) { return !Holds(loop, next); });
      if (!leaves) continue;
      if (exit) return std::nullopt;
      exit = block;
    }
    if (!exit || flow_.successors[*exit].size() != 2) return std::nullopt;
    for (const std::size_t before : flow_.predecessors[loop.header]) {
      if (Holds(loop, before) && !flow_.Dominates(*exit, before)) return std::nullopt;
    }
    const auto branch = static_cast<std::uint32_t>(flow_.graph.blocks[*exit].end - 1);
    // ptxas leaves loops with CALL for sm_80 and sm_89.
    const bool jumps = operands_[branch].form == Form::kCall && !flow_.graph.blocks[*exit].callee;
    return jumps || sass::IsBranch(operands_[branch].form) ? std::optional(branch) : std::nullopt;
  }

  /// The deciding predicate: the guard, or the operand of "BRA.U !UP0, 0x2b0".
  std::optional<bool> ConditionOf(std::uint32_t branch) const {
    if (operands_[branch].guard) return operands_[branch].guard->negated;
    const std::vector<std::string_view> parts = SplitOperands(function_.instructions[branch].operands);
    if (parts.size() != 2) return std::nullopt;
    return parts.front().starts_with('!');
  }

  bool GoesOnWhenTrue(const Loop& loop, std::uint32_t branch) const {
    const bool falls_into_loop = Holds(loop, flow_.graph.block_of[branch] + 1);
    return ConditionOf(branch).value_or(false) == falls_into_loop;
  }

  std::optional<std::uint32_t> ComparisonOf(std::uint32_t branch) {
    if (!ConditionOf(branch)) return std::nullopt;
    std::optional<Value> condition;
    for (const ValueUse& use : values_.UsesOf(branch)) {
      if (!IsPredicate(use.slot)) continue;
      if (condition) return std::nullopt;
      condition = use.value;
    }
    if (!condition || *condition == kNoValue || values_.IsJoin(*condition)) return std::nullopt;
    return *condition;
  }

  std::optional<Value> ValueAt(std::uint32_t instruction, std::string_view text) const {
    const auto slot = ReadSlot(text);
    if (!slot) return std::nullopt;
    for (const ValueUse& use : values_.UsesOf(instruction)) {
      if (use.slot == *slot) return use.value;
    }
    return std::nullopt;
  }

  std::optional<std::int64_t> ConstantAt(std::uint32_t instruction, std::string_view text) const {
    if (const auto constant = IntegerConstant(text)) return constant;
    const auto value = ValueAt(instruction, text);
    return value ? ConstantOf(*value) : std::nullopt;
  }

  /// For "MOV R4, 0x10" and its kin.
  std::optional<std::int64_t> ConstantOf(Value value) const {
    if (value == kNoValue || values_.IsJoin(value) || operands_[value].guard) return std::nullopt;
    const std::string_view opcode = function_.instructions[value].opcode;
    const std::vector<std::string_view> parts = SplitOperands(function_.instructions[value].operands);
    const sass::IntegerOp op = sass::IntegerOpOf(opcode);
    if (parts.size() == 2 && op == sass::IntegerOp::kCopy) return IntegerConstant(parts[1]);
    if (parts.size() == 4 && op == sass::IntegerOp::kMultiplyAdd && parts[1] == "RZ") return IntegerConstant(parts[3]);
    // ptxas balances its pipes: it makes zero with HFMA2, in halves.
    const bool zero = sass::ClassOf(opcode) == sass::OpcodeClass::kFp16 && parts.size() == 5 && parts[1] == "-RZ" &&
                      parts[2] == "RZ" && parts[3] == "0" && parts[4] == "0";
    return zero ? std::optional<std::int64_t>(0) : std::nullopt;
  }

  /// What "R4, R4, 0x1, RZ" adds to its first source; nothing for any other instruction.
  struct Step {
    Value from = kNoValue;
    std::int64_t constant = 0;
  };
  std::optional<Step> StepOf(Value value) const {
    if (value == kNoValue || values_.IsJoin(value) || operands_[value].guard) return std::nullopt;
    const std::string_view opcode = function_.instructions[value].opcode;
    if (sass::IntegerOpOf(opcode) != sass::IntegerOp::kAdd || sass::Makes64Bits(opcode)) return std::nullopt;
    std::vector<std::string_view> parts = SplitOperands(function_.instructions[value].operands);
    if (parts.size() < 3) return std::nullopt;
    parts.erase(parts.begin());
    std::erase_if(parts, [](std::string_view part) {  // carries
      const auto slot = ReadSlot(part);
      return IsTrue(part) || (slot && IsPredicate(*slot));
    });
    if (parts.size() != 2 && parts.size() != 3) return std::nullopt;
    std::optional<std::string_view> source;
    std::int64_t sum = 0;
    for (const std::string_view part : parts) {
      if (const auto constant = IntegerConstant(part)) {
        sum += *constant;
      } else if (!source) {
        source = part;
      } else {
        return std::nullopt;
      }
    }
    const auto from = source ? ValueAt(value, *source) : std::nullopt;
    return from ? std::optional(Step{*from, sum}) : std::nullopt;
  }

  /// The counter being compared: a join at the header of its initial value and the result of a step.
  std::optional<Counter> CounterOf(const Loop& loop, std::uint32_t compare, std::string_view text) {
    const auto compared = ValueAt(compare, text);
    if (!compared || *compared == kNoValue) return std::nullopt;
    Value join = *compared;
    if (!values_.IsJoin(join)) {
      const auto step = StepOf(join);
      if (!step || !values_.IsJoin(step->from)) return std::nullopt;
      join = step->from;
    }
    Counter counter;
    counter.compared_behind = join != *compared;
    std::optional<std::int64_t> first;
    std::optional<std::int64_t> added;
    for (const Value input : values_.InputsOf(join)) {
      if (!budget_.Spend()) return std::nullopt;
      if (const auto constant = ConstantOf(input); constant && !Holds(loop, flow_.graph.block_of[input])) {
        if (first && *first != *constant) return std::nullopt;
        first = constant;
        continue;
      }
      const auto step = StepOf(input);
      const bool in_loop = step && step->from == join && Holds(loop, flow_.graph.block_of[input]);
      if (!in_loop || added || (counter.compared_behind && input != *compared)) return std::nullopt;
      // A step that some rounds skip would have been joined with the old value.
      added = step->constant;
    }
    if (!first || !added || *added == 0) return std::nullopt;
    counter.first = *first;
    counter.step = *added;
    return counter;
  }

  const DeviceFunction& function_;
  const std::vector<Operands>& operands_;
  const Flow& flow_;
  const Values& values_;
  StepBudget& budget_;
};

}  // namespace

std::vector<std::optional<double>> ReadRounds(const DeviceFunction& function, const std::vector<Operands>& operands,
                                              const Flow& flow, const Values& values, StepBudget& budget) {
  RoundsReader reader(function, operands, flow, values, budget);
  std::vector<std::optional<double>> rounds;
  for (const Loop& loop : flow.loops) rounds.push_back(reader.RoundsOf(loop));
  return rounds;
}

StaticRounds CountRounds(const Flow& flow, const std::vector<std::optional<double>>& rounds, const Ranks& ranks,
                         StepBudget& budget) {
  StaticRounds result;
  std::vector<double> of_block(flow.graph.blocks.size(), 1.0);
  for (std::size_t i = 0; i < flow.loops.size(); ++i) {
    bool qk = false;
    bool pv = false;
    bool exponentials = false;
    for (const std::size_t block : flow.loops[i].blocks) {
      const BasicBlock& code = flow.graph.blocks[block];
      if (!budget.Spend(1 + code.end - code.first)) break;
      for (std::size_t at = code.first; at < code.end; ++at) {
        qk = qk || ranks.computes[at] == Computes::kQk;
        pv = pv || ranks.computes[at] == Computes::kPv;
        exponentials = exponentials || ranks.computes[at] == Computes::kExponential;
      }
    }
    const bool outer = qk && pv;
    result.is_outer.push_back(outer);
    result.is_unknown.push_back(!outer && !rounds[i] && (qk || pv || exponentials));
    if (outer) continue;
    if (!rounds[i]) {
      result.products_known = result.products_known && !qk && !pv;
      result.exponentials_known = result.exponentials_known && !exponentials;
      continue;
    }
    for (const std::size_t block : flow.loops[i].blocks) of_block[block] *= *rounds[i];
  }
  result.times.reserve(flow.graph.block_of.size());
  for (const std::size_t block : flow.graph.block_of) result.times.push_back(of_block[block]);
  return result;
}

}  // namespace fa_profile::analyze
