#include "inference/constant_parts.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "fa_profile/opcodes.h"

namespace fa_profile::analyze {
namespace {

constexpr int kLongestChain = 200;  // instructions from a constant to its address: compilers fold long chains

std::int64_t Wrap(std::int64_t value) { return static_cast<std::int32_t>(static_cast<std::uint64_t>(value)); }

std::optional<std::int64_t> Immediate(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
}

bool IsPredicateOperand(std::string_view text) {
  if (text.starts_with('!')) text.remove_prefix(1);
  if (text.starts_with('U')) text.remove_prefix(1);
  return text.size() == 2 && text[0] == 'P';
}

bool IsZeroRegister(std::string_view text) { return text == "RZ" || text == "URZ"; }

/// "IADD3 R5, R5, 0x8, RZ": a step to the next element.
bool AddsToItself(const Instruction& instruction) {
  if (sass::IntegerOpOf(instruction.opcode) != sass::IntegerOp::kAdd) return false;
  const std::vector<std::string_view> texts = SplitOperands(instruction.operands);
  const auto is_step = [](std::string_view text) { return Immediate(text).value_or(0) != 0; };
  return !texts.empty() && std::ranges::count(texts, texts.front()) > 1 && std::ranges::any_of(texts, is_step);
}

}  // namespace

std::int64_t ConstantParts::OfAddress(std::uint32_t instruction, std::string_view address, int depth) {
  const std::size_t open = address.rfind('[');
  if (open == std::string_view::npos) return 0;
  address.remove_prefix(open + 1);
  address = address.substr(0, address.find(']'));
  std::int64_t sum = 0;
  while (!address.empty()) {
    const std::size_t next = address.find('+', 1);
    std::string_view part = address.substr(0, next);
    address.remove_prefix(next == std::string_view::npos ? address.size() : next + 1);
    std::int64_t scale = 1;
    if (part.ends_with(".X4")) scale = 4;
    if (part.ends_with(".X8")) scale = 8;
    if (part.ends_with(".X16")) scale = 16;
    if (scale == 1 || rule_ == Rule::kGuess) sum += scale * OfOperand(instruction, part, depth);
  }
  return Wrap(sum);
}

std::optional<std::int64_t> ConstantParts::KnownOfAddress(std::uint32_t instruction, std::string_view address) {
  now_uncertain_ = address.empty();
  const std::int64_t place = OfAddress(instruction, address);
  return now_uncertain_ ? std::nullopt : std::optional(place);
}

std::int64_t ConstantParts::OfOperand(std::uint32_t instruction, std::string_view text, int depth) {
  const bool negative = text.starts_with('-');
  const auto slot = ReadSlot(negative ? text.substr(1) : text);
  if (!slot) {
    const auto immediate = Immediate(text);
    now_uncertain_ = now_uncertain_ || !(immediate || text.empty() || IsZeroRegister(text));
    return immediate.value_or(0);
  }
  for (const ValueUse& use : values_.UsesOf(instruction)) {
    if (use.slot != *slot) continue;
    const std::int64_t value = OfValue(use.value, depth + 1).value_or(0);
    return negative ? -value : value;
  }
  now_uncertain_ = true;
  return 0;
}

std::optional<std::int64_t> ConstantParts::OfValue(Value value, int depth) {
  std::optional<std::int64_t> smallest;
  const auto definitions = values_.DefinitionsOf(value, budget_);
  for (const std::uint32_t definition : definitions) {
    if (rule_ == Rule::kOnlyKnown && definitions.size() > 1 && AddsToItself(function_.instructions[definition]))
      continue;
    const auto constant = OfDefinition(definition, depth);
    now_uncertain_ = now_uncertain_ || (constant && smallest && *constant != *smallest);
    if (constant && (!smallest || *constant < *smallest)) smallest = constant;
  }
  now_uncertain_ = now_uncertain_ || !smallest;
  return smallest;
}

// For a value carried around a loop, its origin before the loop counts.
std::optional<std::int64_t> ConstantParts::OfDefinition(std::uint32_t instruction, int depth) {
  if (state_[instruction] == kKnown) {
    now_uncertain_ = now_uncertain_ || uncertain_[instruction];
    return known_[instruction];
  }
  if (state_[instruction] == kRunning || depth > kLongestChain || !budget_.Spend(20)) return std::nullopt;
  state_[instruction] = kRunning;
  const bool uncertain_before = std::exchange(now_uncertain_, false);
  known_[instruction] = Wrap(OfInstruction(instruction, depth));
  uncertain_[instruction] = now_uncertain_;
  now_uncertain_ = now_uncertain_ || uncertain_before;
  state_[instruction] = kKnown;
  return known_[instruction];
}

// The operands that an integer instruction reads: without those that it writes, and without predicates before the first
// of them.
class ConstantParts::Sources {
 public:
  Sources(ConstantParts& parts, std::uint32_t instruction, int depth)
      : parts_(parts), instruction_(instruction), depth_(depth) {
    texts_ = SplitOperands(parts.function_.instructions[instruction].operands);
    const bool predicate_first = !texts_.empty() && IsPredicateOperand(texts_.front());
    for (int i = 0; i < (predicate_first ? 2 : 1) && !texts_.empty(); ++i) texts_.erase(texts_.begin());
    while (!texts_.empty() && IsPredicateOperand(texts_.front())) texts_.erase(texts_.begin());
  }

  std::size_t size() const { return texts_.size(); }
  std::string_view Text(std::size_t i) const { return i < texts_.size() ? texts_[i] : std::string_view(); }
  std::optional<std::int64_t> Constant(std::size_t i) const { return Immediate(Text(i)); }
  /// The constant part of the operand; 0: it has none.
  std::int64_t Part(std::size_t i) const {
    return i < texts_.size() ? parts_.OfOperand(instruction_, texts_[i], depth_) : 0;
  }

 private:
  ConstantParts& parts_;
  std::uint32_t instruction_;
  int depth_;
  std::vector<std::string_view> texts_;
};

std::int64_t ConstantParts::OfInstruction(std::uint32_t index, int depth) {
  using enum sass::IntegerOp;
  const Sources sources(*this, index, depth);
  switch (sass::IntegerOpOf(function_.instructions[index].opcode)) {
    case kSelect:
      return OfSelect(sources);
    case kCopy:
    case kMinimum:
      return sources.Part(0);
    case kAdd:
      return OfAdd(sources);
    case kMultiplyAdd:
      return OfMultiplyAdd(sources);
    case kShiftAdd:
      return OfShiftAdd(sources);
    case kShift:
      return OfShift(sources);
    case kLogic:
      return OfLogic(sources);
    default:
      return OfSharedLoad(index, depth);
  }
}

std::int64_t ConstantParts::OfSharedLoad(std::uint32_t load, int depth) {
  const Instruction& instruction = function_.instructions[load];
  if (words_.empty() || sass::FormOf(instruction.opcode) != Form::kSharedLoad) return Unknown();
  const auto word = words_.find(OfAddress(load, SharedAddress(instruction), depth));
  if (word == words_.end()) return Unknown();
  return OfOperand(word->second, SplitOperands(function_.instructions[word->second].operands).back(), depth);
}

std::int64_t ConstantParts::OfSelect(const Sources& sources) {
  const std::int64_t first = sources.Part(0);
  if (rule_ == Rule::kOnlyKnown) now_uncertain_ = now_uncertain_ || first != sources.Part(1);
  return first;
}

std::int64_t ConstantParts::OfAdd(const Sources& sources) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    if (!IsPredicateOperand(sources.Text(i))) sum += sources.Part(i);
  }
  return sum;
}

std::int64_t ConstantParts::OfMultiplyAdd(const Sources& sources) {
  const std::int64_t added = sources.Part(2);
  if (IsZeroRegister(sources.Text(0)) || IsZeroRegister(sources.Text(1))) return added;
  for (const auto& [factor, constant] : {std::pair<std::size_t, std::size_t>{0, 1}, {1, 0}}) {
    const auto times = sources.Constant(constant);
    if (times && *times != 1 && rule_ == Rule::kOnlyKnown) return added;
    if (times) return Wrap(sources.Part(factor) * Wrap(*times)) + added;
  }
  return added;  // the omitted operand is scaled
}

std::int64_t ConstantParts::OfShiftAdd(const Sources& sources) {
  const std::int64_t shift = sources.Constant(2).value_or(0) & 31;
  if (shift > 0 && rule_ == Rule::kOnlyKnown) return sources.Part(1);
  return Wrap(sources.Part(0) * (std::int64_t{1} << shift)) + sources.Part(1);
}

std::int64_t ConstantParts::OfShift(const Sources& sources) {
  if (rule_ == Rule::kOnlyKnown) return Unknown();
  const auto shift = sources.Constant(1);
  return shift ? Wrap(sources.Part(0) * (std::int64_t{1} << (*shift & 31))) : 0;
}

// By truth table: "-x & 0x3ff", which aligns, is 0 for an aligned x, and "x | 0x14000" adds.
std::int64_t ConstantParts::OfLogic(const Sources& sources) {
  constexpr std::int64_t kAnd = 0xc0;
  constexpr std::int64_t kOr = 0xfc;
  const auto table = sources.Constant(3);
  if (table == kAnd || table == kOr) {
    const std::int64_t a = sources.Part(0);
    const std::int64_t b = sources.Part(1);
    if (table == kOr) return a | b;
    if ((a != 0 || sources.Constant(0)) && (b != 0 || sources.Constant(1))) return a & b;
  }
  if (rule_ == Rule::kOnlyKnown) return Unknown();
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, sources.size()); ++i) {
    if (sources.Constant(i)) continue;  // a mask
    const std::int64_t part = sources.Part(i);
    if (std::abs(part) > std::abs(largest)) largest = part;
  }
  return largest;
}

std::int64_t ConstantParts::Unknown() {
  now_uncertain_ = true;
  return 0;
}

}  // namespace fa_profile::analyze
