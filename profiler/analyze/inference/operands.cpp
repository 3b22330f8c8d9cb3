#include "inference/operands.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace fa_profile::analyze {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

class Reader {
 public:
  explicit Reader(const Instruction& instruction)
      : opcode_(instruction.opcode), row_(sass::FindOpcode(opcode_)), texts_(SplitOperands(instruction.operands)) {
    result_.form = sass::FormOf(opcode_);
    ReadGuard(instruction.predicate);
    if (result_.form == Form::kMatrix) {
      ReadMatrix();
    } else if (result_.form == Form::kWarpgroupMatrix) {
      ReadWarpgroupMatrix();
    } else if (result_.form == Form::kTensorMemory) {
      ReadTensorMatrix();
    } else if (sass::IsBulkCopy(result_.form)) {
      ReadBulkCopy();
    } else {
      ReadSources(ReadDestinations());
    }
    const auto only_predicates = [](Slot slot) { return IsPredicate(slot); };
    if (result_.form == Form::kOther && !result_.definitions.empty() &&
        std::ranges::all_of(result_.definitions, only_predicates)) {
      result_.form = Form::kCompare;
    }
  }

  Operands Take() { return std::move(result_); }

 private:
  void Define(std::string_view text, int count = 1) {
    const auto slot = ReadSlot(text);
    if (!slot) return;
    for (int i = 0; i < count && SameFile(*slot, *slot + i); ++i) {
      result_.definitions.push_back(static_cast<Slot>(*slot + i));
    }
  }

  void AddUse(std::string_view text, Role role, int count = 1) {
    while (!text.empty() &&
           (text.front() == '-' || text.front() == '|' || text.front() == '~' || text.front() == '!')) {
      text.remove_prefix(1);
    }
    const auto slot = ReadSlot(text);
    if (!slot) return;
    for (int i = 0; i < count && SameFile(*slot, *slot + i); ++i) {
      result_.uses.push_back({static_cast<Slot>(*slot + i), role});
    }
  }

  static bool SameFile(int first, int slot) {
    const auto file = [](int s) {
      return s < kFirstUniform ? 0 : s < kFirstPredicate ? 1 : s < kFirstUniformPredicate ? 2 : s < kSlots ? 3 : 4;
    };
    return file(first) == file(slot);
  }

  void ReadGuard(std::string_view predicate) {
    if (!predicate.starts_with('@')) return;
    predicate.remove_prefix(1);
    const bool negated = predicate.starts_with('!');
    if (negated) predicate.remove_prefix(1);
    const auto slot = ReadSlot(predicate);
    if (slot && IsPredicate(*slot)) {
      result_.guard = Guard{*slot, negated};
      result_.uses.push_back({*slot, Role::kGuard});
    } else if (predicate == "PT" || predicate == "UPT") {
      result_.never = negated;
    }
  }

  std::string_view Text(std::size_t i) const { return i < texts_.size() ? texts_[i] : std::string_view(); }

  void ReadMatrix() {
    const sass::MatrixFragments registers = sass::FragmentsOf(opcode_);
    Define(Text(0), registers.c);
    AddUse(Text(1), Role::kA, registers.a);
    AddUse(Text(2), Role::kB, registers.b);
    AddUse(Text(3), Role::kC, registers.c);
    result_.sources = 3;
  }

  // "R24, gdesc[UR8], R24, !UPT, gsb0" has both factors in shared memory; "R24, R8, gdesc[UR8], R24" the first in
  // registers.
  void ReadWarpgroupMatrix() {
    const sass::MatrixFragments registers = sass::FragmentsOf(opcode_);
    std::size_t next = 1;
    Define(Text(0), registers.c);
    if (!Text(next).starts_with("gdesc")) AddUse(Text(next++), Role::kA, registers.a);
    if (const std::size_t open = Text(next).find('['); open != std::string_view::npos) {
      AddUse(Text(next).substr(open + 1), Role::kAddress, 4);
    }
    AddUse(Text(next + 1), Role::kC, registers.c);
    result_.sources = next == 2 ? 3 : 2;
  }

  // "gdesc[UR4], gdesc[UR6], tmem[UR12], tmem[UR26], idesc[UR27], !UPT": A, B, the result, then by a predicate whether
  // it is added to. A descriptor of a matrix in shared memory has 64 bits.
  void ReadTensorMatrix() {
    for (const std::string_view text : texts_) {
      if (text.find('[') != std::string_view::npos) {
        AddAddress(text, text.starts_with("gdesc") ? 2 : 1);
      } else {
        AddUse(text, Role::kSelect);
      }
    }
    result_.sources = 3;
  }

  void ReadBulkCopy() {
    const int first = sass::BulkAddressRegisters(opcode_);
    for (std::size_t i = 0; i < texts_.size(); ++i) AddAddress(texts_[i], i == 0 ? first : 2);
  }

  /// Every register in the text.
  void AddAddress(std::string_view text, int count = 1) {
    for (std::size_t i = 0; i < text.size();) {
      std::size_t length = 0;
      const bool begins =
          i == 0 || text[i - 1] == '[' || text[i - 1] == '+' || text[i - 1] == '-' || text[i - 1] == '!';
      if (!begins || !ReadSlot(text.substr(i), &length)) {
        ++i;
        continue;
      }
      const bool wide = text.substr(i + length).starts_with(".64");
      AddUse(text.substr(i, length), Role::kAddress, wide ? std::max(count, 2) : count);
      i += length;
    }
  }

  static bool IsPredicateText(std::string_view text) {
    if (text.starts_with('U')) text.remove_prefix(1);
    return text.size() == 2 && text[0] == 'P' && (IsDigit(text[1]) || text[1] == 'T');
  }

  static bool IsRegisterText(std::string_view text) {
    if (text.starts_with('U')) text.remove_prefix(1);
    return text.size() >= 2 && text[0] == 'R' && (IsDigit(text[1]) || text[1] == 'Z');
  }

  void DefineAllPredicates() {
    for (Slot slot = kFirstPredicate; slot < kFirstPredicate + 7; ++slot) result_.definitions.push_back(slot);
  }

  /// Returns how many operands are destinations.
  std::size_t ReadDestinations() {
    const std::string_view first = Text(0);
    const sass::Opcode::Traits& traits = row_.traits;
    if (first.empty() || first.starts_with('[') || first.starts_with("desc") || traits.defines_nothing) return 0;
    if (row_.form == Form::kMbarrier && !IsPredicateText(first)) return 0;
    if (first == "PR") {
      DefineAllPredicates();
      return 1;
    }
    if (IsPredicateText(first)) {
      Define(first);
      const std::string_view second = Text(1);
      const bool two =
          (traits.two_predicates && IsPredicateText(second)) || (traits.predicate_first && IsRegisterText(second));
      if (two) Define(second);
      return two ? 2 : 1;
    }
    if (!IsRegisterText(first)) return 0;
    Define(first, sass::RegistersOf(opcode_));
    std::size_t count = 1;
    const bool carries = traits.integer == sass::IntegerOp::kAdd || traits.integer == sass::IntegerOp::kShiftAdd ||
                         traits.integer == sass::IntegerOp::kMultiplyAdd;
    while (carries && count + 1 < texts_.size() && IsPredicateText(Text(count))) Define(Text(count++));
    return count;
  }

  void ReadSources(std::size_t first) {
    const Form form = row_.form;
    const bool is_store = form == Form::kGlobalStore || form == Form::kSharedStore || form == Form::kLocalStore ||
                          form == Form::kRemoteStore || form == Form::kTensorStore;
    const bool wide_sources = sass::HasWideSources(opcode_);
    const bool wide_sum = sass::Makes64Bits(opcode_) && row_.traits.integer == sass::IntegerOp::kMultiplyAdd;
    const int width = sass::RegistersOf(opcode_);
    int sources = 0;
    for (std::size_t i = first; i < texts_.size(); ++i) {
      const std::string_view text = texts_[i];
      const bool is_constant = text.find("c[") != std::string_view::npos || text.find("cx[") != std::string_view::npos;
      std::string_view plain = text;
      if (plain.starts_with('!')) plain.remove_prefix(1);
      if (is_constant && !text.starts_with("desc")) {
        AddAddress(text);
        ++sources;
      } else if (text.find('[') != std::string_view::npos) {
        AddAddress(text);
      } else if (IsPredicateText(plain)) {
        AddUse(plain, Role::kSelect);
      } else if (plain == "PR") {
        for (Slot slot = kFirstPredicate; slot < kFirstPredicate + 7; ++slot)
          result_.uses.push_back({slot, Role::kSelect});
      } else {
        const bool wide = wide_sources || text.find(".64") != std::string_view::npos || (sources == 2 && wide_sum);
        AddUse(text, static_cast<Role>(std::min(sources, 2)), is_store ? width : wide ? 2 : 1);
        ++sources;
      }
    }
    result_.sources = sources;
  }

  std::string_view opcode_;
  const sass::Opcode& row_;
  std::vector<std::string_view> texts_;
  Operands result_;
};

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Splits an operand without commas: "R68[R92+UR6]", "desc[UR24][R2.64][R0+0x600]".
void SplitGlued(std::string_view text, std::vector<std::string_view>& parts) {
  text = Trimmed(text);
  while (!text.empty()) {
    const std::size_t open = text.find('[');
    if (open == std::string_view::npos) {
      parts.push_back(text);
      return;
    }
    std::string_view name = text.substr(0, open);
    while (!name.empty() && (name.front() == '-' || name.front() == '|' || name.front() == '!')) name.remove_prefix(1);
    const bool is_memory = !name.empty() && name.front() >= 'a' && name.front() <= 'z';
    if (!name.empty() && !is_memory) {  // a register or predicate before an address
      parts.push_back(Trimmed(text.substr(0, open)));
      text.remove_prefix(open);
      continue;
    }
    int groups = is_memory && name != "gdesc" ? 2 : 1;
    std::size_t end = open;
    while (groups-- > 0 && end < text.size() && text[end] == '[') {
      const std::size_t close = text.find(']', end);
      end = close == std::string_view::npos ? text.size() : close + 1;
    }
    if (end < text.size() && text[end] != '[') end = text.size();  // "|c[0x0][0x28]|", ".U8"
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

}  // namespace

Operands ReadOperands(const Instruction& instruction) { return Reader(instruction).Take(); }

std::vector<std::string_view> SplitOperands(std::string_view operands) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= operands.size(); ++i) {
    const char c = i < operands.size() ? operands[i] : ',';
    if (c == '[') ++depth;
    if (c == ']') depth = std::max(depth - 1, 0);
    if (c != ',' || (depth > 0 && i < operands.size())) continue;
    SplitGlued(operands.substr(begin, i - begin), parts);
    begin = i + 1;
  }
  for (std::string_view& part : parts) {
    constexpr std::string_view kReuse = ".reuse";
    if (part.ends_with(kReuse)) part.remove_suffix(kReuse.size());
  }
  return parts;
}

std::optional<Slot> ReadSlot(std::string_view text, std::size_t* length) {
  const std::size_t uniform = text.starts_with('U') ? 1 : 0;
  if (text.size() < uniform + 2) return std::nullopt;
  const char file = text[uniform];
  if ((file != 'R' && file != 'P') || !IsDigit(text[uniform + 1])) return std::nullopt;
  unsigned number = 0;
  const char* const begin = text.data() + uniform + 1;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  if (error != std::errc{} || number > (file == 'R' ? 255U : 7U)) return std::nullopt;
  if (length != nullptr) *length = static_cast<std::size_t>(end - text.data());
  const unsigned first =
      file == 'R' ? (uniform != 0 ? kFirstUniform : 0U) : (uniform != 0 ? kFirstUniformPredicate : kFirstPredicate);
  return static_cast<Slot>(first + number);
}

std::string_view SharedAddress(const Instruction& instruction) {
  std::string_view address;
  for (const std::string_view text : SplitOperands(instruction.operands)) {
    if (!text.starts_with('[')) continue;
    // In LDGSTS before sm_90 both operands are in brackets; the global one has 64 bits.
    if (text.find(".64") == std::string_view::npos) return text;
    if (address.empty()) address = text;
  }
  return address;
}

std::optional<double> MultiplyAdds(const Instruction& instruction, Form form) {
  constexpr double kThreads = 32.0;
  if (form == Form::kMatrix || form == Form::kWarpgroupMatrix || form == Form::kTensorMemory) {
    const auto flops = sass::TensorFlops(instruction.opcode);
    if (!flops) return std::nullopt;
    return *flops / 2.0;
  }
  if (form != Form::kMultiply) return 0.0;
  const sass::Opcode& row = sass::FindOpcode(instruction.opcode);
  const bool packed =
      row.opcode_class == sass::OpcodeClass::kFp16 || (row.opcode_class == sass::OpcodeClass::kFp32 && row.traits.wide);
  return packed ? 2.0 * kThreads : kThreads;
}

}  // namespace fa_profile::analyze
