#include "bundle_listing.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "byte_reader.h"
#include "elf_file.h"
#include "fa_profile/opcodes.h"
#include "nvdisasm.h"

namespace fa_profile::sass {
namespace {

/// Lists the functions of a bundle with one run of nvdisasm, for those of their instructions that it has not printed
/// yet.
class BundleListing {
 public:
  BundleListing(const CodeBundle& bundle, const std::string& nvdisasm, int sm, InstructionTexts& texts)
      : bundle_(bundle), nvdisasm_(nvdisasm), sm_(sm), texts_(texts) {}

  ~BundleListing() { Release(); }
  BundleListing(const BundleListing&) = delete;
  BundleListing& operator=(const BundleListing&) = delete;

  /// Adds the instructions of the bundle's functions, which have their names.
  void Fill(const std::vector<DeviceFunction*>& functions) {
    std::vector<std::vector<Key>> keys;
    for (std::size_t f = 0; f < functions.size(); ++f) {
      keys.push_back(texts_.KeysOf(bundle_.Layout(), bundle_.CodeOf(f)));
      functions[f]->instructions.resize(keys[f].size());
      PutKnown(keys[f], *functions[f]);
      AddUnknown(*functions[f], keys[f], bundle_.CodeOf(f));
    }
    std::vector<DeviceFunction> printed;  // owns the texts
    const Texts found = ListUnknown(printed);
    texts_.Add({found.begin(), found.end()});
    Release();
    texts_.Await(others_claimed_);
    std::vector<std::size_t> left;
    for (std::size_t f = 0; f < functions.size(); ++f) {
      PutFound(found, keys[f], *functions[f]);
      if (!others_claimed_.empty()) PutKnown(keys[f], *functions[f]);
      if (!IsComplete(*functions[f])) left.push_back(f);
    }
    ListWhole(left, functions);
  }

 private:
  using Key = InstructionTexts::Key;
  using Text = InstructionTexts::Text;
  using Texts = std::unordered_map<Key, Text, InstructionTexts::Hash>;

  /// Different instructions.
  struct Unknown {
    std::vector<Key> keys;
    std::vector<std::uint8_t> code;
  };

  /// The only instructions whose text depends on where they are: branches, calls and their kin, from Volta to
  /// Blackwell.
  static bool MayBeBranch(const Key& key) {
    constexpr std::uint64_t kOpcodeBits = 0x1ff;
    constexpr std::uint64_t kFirst = 0x140;
    constexpr std::uint64_t kLast = 0x15f;
    const std::uint64_t opcode = key.low & kOpcodeBits;
    return opcode >= kFirst && opcode <= kLast;
  }

  static void Put(const Text& text, std::size_t index, DeviceFunction& function) {
    Instruction& instruction = function.instructions[index];
    instruction.offset = static_cast<std::uint32_t>(index) * kInstructionBytes;
    instruction.predicate = text.predicate;
    instruction.opcode = text.opcode;
    instruction.operands = text.operands;
    if (!text.target) return;
    const std::int64_t target = instruction.offset + *text.target;
    if (target == 0 && FormOf(text.opcode) == Form::kReturn) {
      instruction.operands += function.name;
    } else {
      instruction.operands += (target < 0 ? "-" : "") + Hex(static_cast<std::uint64_t>(std::abs(target)));
    }
  }

  void PutKnown(const std::vector<Key>& keys, DeviceFunction& function) {
    texts_.ForKnown(keys, [&](std::size_t i, const Text& text) {
      if (function.instructions[i].opcode.empty()) Put(text, i, function);
    });
  }

  void AddUnknown(const DeviceFunction& function, const std::vector<Key>& keys, std::span<const std::uint8_t> code) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (!function.instructions[i].opcode.empty() || !unknown_.insert(keys[i]).second) continue;
      if (!texts_.Claim(keys[i])) {
        others_claimed_.push_back(keys[i]);
        continue;
      }
      Unknown& kind = MayBeBranch(keys[i]) ? branches_ : plain_;
      kind.keys.push_back(keys[i]);
      const auto bytes = code.subspan(i * kInstructionBytes, kInstructionBytes);
      kind.code.insert(kind.code.end(), bytes.begin(), bytes.end());
    }
  }

  void Release() {
    texts_.Release(branches_.keys);
    texts_.Release(plain_.keys);
  }

  /// Prints branches at two offsets: that tells whether they have a target, and which.
  Texts ListUnknown(std::vector<DeviceFunction>& printed) const {
    Texts texts;
    if (branches_.keys.empty() && plain_.keys.empty()) return texts;
    std::vector<std::uint8_t> later = branches_.code;
    later.insert(later.begin(), branches_.code.begin(),
                 branches_.code.begin() + (later.empty() ? 0 : kInstructionBytes));
    std::vector<std::span<const std::uint8_t>> codes = {plain_.code};
    if (plain_.keys.empty()) codes.clear();
    if (!branches_.keys.empty()) codes.insert(codes.end(), {branches_.code, later});
    const CodeBundle bundle = bundle_.With(codes);
    auto listed = Nvdisasm(bundle.ToElf(), nvdisasm_, {}, sm_).ListAsJson();
    if (!listed) return texts;
    printed = *std::move(listed);
    std::vector<const std::vector<Instruction>*> lists(codes.size());
    for (const DeviceFunction& function : printed) {
      const auto index = bundle.IndexOf(function.name);
      if (index && function.instructions.size() * kInstructionBytes == codes[*index].size())
        lists[*index] = &function.instructions;
    }
    if (std::ranges::find(lists, nullptr) != lists.end()) return texts;
    for (std::size_t i = 0; i < plain_.keys.size(); ++i) {
      const Instruction& only = (*lists.front())[i];
      texts.emplace(plain_.keys[i], Text{only.predicate, only.opcode, only.operands, std::nullopt});
    }
    for (std::size_t i = 0; i < branches_.keys.size(); ++i) {
      const auto text = TextOfBranch((*lists[lists.size() - 2])[i], (*lists.back())[i + 1]);
      if (text) texts.emplace(branches_.keys[i], *text);
    }
    return texts;
  }

  /// From its forms at two offsets. Absent if these differ otherwise than in the number at their end.
  static std::optional<Text> TextOfBranch(const Instruction& first, const Instruction& later) {
    Text text{first.predicate, first.opcode, first.operands, std::nullopt};
    if (first.predicate != later.predicate || first.opcode != later.opcode) return std::nullopt;
    if (first.operands == later.operands) return text;
    const auto target = NumberAtEnd(first.operands);
    const auto later_target = NumberAtEnd(later.operands);
    if (!target || !later_target || *target - first.offset != *later_target - later.offset) return std::nullopt;
    const std::string_view before = WithoutLastWord(first.operands);
    if (before != WithoutLastWord(later.operands)) return std::nullopt;
    text.operands = before;
    text.target = *target - first.offset;
    return text;
  }

  static std::string_view WithoutLastWord(std::string_view operands) {
    return operands.substr(0, operands.find_last_of(' ') + 1);  // 0 if there is one word
  }

  /// The last word, if it is a number: "-0x3a0".
  static std::optional<std::int64_t> NumberAtEnd(std::string_view operands) {
    operands.remove_prefix(WithoutLastWord(operands).size());
    const bool is_negative = operands.starts_with('-');
    if (is_negative) operands.remove_prefix(1);
    std::int64_t number = 0;
    if (!operands.starts_with("0x")) return std::nullopt;
    operands.remove_prefix(2);
    const char* const end = operands.data() + operands.size();
    const auto parsed = std::from_chars(operands.data(), end, number, /*base=*/16);
    if (parsed.ptr != end || parsed.ec != std::errc()) return std::nullopt;
    return is_negative ? -number : number;
  }

  static void PutFound(const Texts& found, const std::vector<Key>& keys, DeviceFunction& function) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (!function.instructions[i].opcode.empty()) continue;
      if (const auto text = found.find(keys[i]); text != found.end()) Put(text->second, i, function);
    }
  }

  static bool IsComplete(const DeviceFunction& function) {
    return std::ranges::none_of(function.instructions, &std::string::empty, &Instruction::opcode);
  }

  /// Lists functions by themselves.
  void ListWhole(const std::vector<std::size_t>& which, const std::vector<DeviceFunction*>& functions) const {
    if (which.empty()) return;
    std::vector<std::span<const std::uint8_t>> codes;
    for (const std::size_t f : which) codes.push_back(bundle_.CodeOf(f));
    const CodeBundle bundle = bundle_.With(codes);
    for (DeviceFunction& function : Nvdisasm(bundle.ToElf(), nvdisasm_, {}, sm_).List()) {
      const auto index = bundle.IndexOf(function.name);
      if (!index) continue;
      DeviceFunction& result = *functions[which[*index]];
      result.instructions = std::move(function.instructions);
      NameStart(function.name, result);
    }
  }

  /// nvdisasm prints a function's start as the function's name.
  static void NameStart(const std::string& name, DeviceFunction& function) {
    for (Instruction& instruction : function.instructions) {
      std::string& operands = instruction.operands;
      if (WithoutLastWord(operands).size() + name.size() != operands.size() || !operands.ends_with(name)) continue;
      const bool is_return = FormOf(instruction.opcode) == Form::kReturn;
      operands.replace(operands.size() - name.size(), operands.npos, is_return ? function.name : "0x0");
    }
  }

  const CodeBundle& bundle_;
  const std::string& nvdisasm_;
  const int sm_;
  InstructionTexts& texts_;
  std::unordered_set<Key, InstructionTexts::Hash> unknown_;
  Unknown branches_;
  Unknown plain_;
  std::vector<Key> others_claimed_;
};

}  // namespace

void ListBundle(const CodeBundle& bundle, const std::string& nvdisasm, int sm, InstructionTexts& texts,
                const std::vector<DeviceFunction*>& functions) {
  BundleListing(bundle, nvdisasm, sm, texts).Fill(functions);
}

}  // namespace fa_profile::sass
