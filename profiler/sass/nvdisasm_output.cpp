// Parses what nvdisasm prints, as JSON and as text.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "byte_reader.h"
#include "elf_file.h"
#include "fa_profile/disassembly.h"
#include "fa_profile/error.h"
#include "fa_profile/opcodes.h"
#include "nvdisasm.h"

namespace fa_profile::sass {
namespace {

// "R4, R8" for "R4,R8", the format of NVIDIA's listings.
std::string Spaced(const std::string& operands) {
  std::string spaced;
  for (const char c : operands) {
    spaced += c;
    if (c == ',') spaced += ' ';
  }
  return spaced.substr(0, spaced.find_last_not_of(' ') + 1);
}

std::string TextOf(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? std::string() : found->get<std::string>();
}

// With -json, nvdisasm prints all predicates, an operand of P2R and R2P, as the predicate of P2R, and leaves them out
// of an R2P that follows. Without, it prints "P2R R38, PR, RZ, 0x1" and "R2P PR, R20, 0x6".
void PutAllPredicates(Instruction& instruction) {
  constexpr std::string_view kAll = "PR";
  std::string& operands = instruction.operands;
  if (instruction.predicate == kAll) {
    instruction.predicate.clear();
    operands.insert(std::min(operands.find(','), operands.size()), ", PR");
  } else if (FindOpcode(instruction.opcode).traits.all_predicates && !operands.starts_with(kAll)) {
    operands.insert(0, "PR, ");
  }
}

Instruction ParseInstruction(const nlohmann::json& json) {
  Instruction instruction;
  instruction.predicate = TextOf(json, "predicate");
  instruction.opcode = json.at("opcode").get<std::string>();
  instruction.operands = Spaced(TextOf(json, "operands"));
  PutAllPredicates(instruction);
  return instruction;
}

/// Converts "[{...}, [{"function-name": ..., "sass-instructions": [{...}, ...]}, ...]]" while parsing it, and removes
/// each instruction and function from the DOM when it ends: the DOM takes 50 times as much memory as the code.
class JsonFunctions {
 public:
  /// Throws nlohmann::json::exception.
  std::vector<DeviceFunction> Parse(std::string_view text) {
    const nlohmann::json left = nlohmann::json::parse(
        text, [this](int depth, Event event, const nlohmann::json& parsed) { return Keep(depth, event, parsed); });
    for (const nlohmann::json& other : left.at(1)) EndFunction(other);  // throws: it is not an object
    return std::move(functions_);
  }

 private:
  using Event = nlohmann::json::parse_event_t;
  // Depths of elements.
  static constexpr int kOfRoot = 1;
  static constexpr int kFunction = 2;
  static constexpr int kKeyOfFunction = 3;
  static constexpr int kInstruction = 4;

  bool Keep(int depth, Event event, const nlohmann::json& parsed) {
    const bool is_end = event == Event::object_end || event == Event::array_end || event == Event::value;
    if (depth == kOfRoot && is_end) ++ended_;
    if (depth == kKeyOfFunction && event == Event::key) in_instructions_ = parsed == kInstructions;
    if (ended_ != 1 || event != Event::object_end) return true;
    if (depth == kFunction) {
      EndFunction(parsed);
    } else if (depth == kInstruction && in_instructions_) {
      Add(parsed);
    } else {
      return true;
    }
    return false;
  }

  void Add(const nlohmann::json& json) {
    instructions_.push_back(ParseInstruction(json));
    instructions_.back().offset = static_cast<std::uint32_t>(instructions_.size() - 1) * kInstructionBytes;
  }

  void EndFunction(const nlohmann::json& json) {
    DeviceFunction& function = functions_.emplace_back();
    function.name = json.at("function-name").get<std::string>();
    for (const nlohmann::json& other : json.at(kInstructions)) Add(other);  // throws: it is not an object
    function.instructions = std::exchange(instructions_, {});
  }

  static constexpr const char* kInstructions = "sass-instructions";
  int ended_ = 0;                 // elements of the root
  bool in_instructions_ = false;  // the newest key in a function
  std::vector<Instruction> instructions_;
  std::vector<DeviceFunction> functions_;
};

// Into registers, from an address.
bool IsLoad(OpcodeClass of) {
  return of == OpcodeClass::kGlobalLoad || of == OpcodeClass::kSharedLoad || of == OpcodeClass::kMatrixLoad ||
         of == OpcodeClass::kLocalLoad;
}

/// Reads the lines that `nvdisasm -c` prints for one code section: labels, and instructions after their offsets.
class SectionText {
 public:
  void Read(std::string_view line) {
    constexpr std::string_view kType = ".type";
    const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    const std::string_view rest = line.substr(begin);
    if (rest.starts_with(kType) && rest.ends_with(",@function")) {
      const std::string_view name = rest.substr(kType.size(), rest.rfind(',') - kType.size());
      names_.emplace(name.substr(std::min(name.find_first_not_of(" \t"), name.size())));
    } else if (begin == 0 && rest.ends_with(':')) {
      Label(rest.substr(0, rest.size() - 1));
    } else if (rest.starts_with("/*") && !functions_.empty()) {
      Instruct(rest);
    }
  }

  /// Adds the functions at the end of the section: labels become offsets, as with -json.
  void End(std::vector<DeviceFunction>& all) {
    for (DeviceFunction& function : functions_) {
      for (Instruction& instruction : function.instructions) Resolve(instruction.operands);
      all.push_back(std::move(function));
    }
    *this = {};
  }

 private:
  void Label(std::string_view name) {
    labels_.emplace(name, next_);
    if (!names_.contains(name)) return;
    functions_.emplace_back().name = name;
    start_ = next_;
  }

  // "/*0090*/  @P0 BRA `(.L_x_1) ;", sometimes with a comment after the operands: (*"BRANCH_TARGETS ..."*).
  void Instruct(std::string_view line) {
    std::uint32_t offset = 0;
    const std::size_t close = line.find("*/");
    if (close == std::string_view::npos ||
        std::from_chars(line.data() + 2, line.data() + close, offset, /*base=*/16).ptr != line.data() + close) {
      return;
    }
    std::string_view text = line.substr(close + 2);
    text = text.substr(0, std::min(text.rfind(';'), text.size()));
    text = text.substr(0, std::min(text.find("(*"), text.size()));
    std::vector<std::string_view> words;
    while (words.size() < 2 && !text.empty()) {
      text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
      const std::size_t end = std::min(text.find(' '), text.size());
      if (end > 0) words.push_back(text.substr(0, end));
      text.remove_prefix(end);
      if (words.size() == 1 && !words[0].starts_with('@')) break;
    }
    if (words.empty() || offset < start_) return;
    Instruction instruction;
    instruction.offset = offset - start_;
    if (words.size() == 2) instruction.predicate = words[0];
    instruction.opcode = words.back();
    const std::size_t first = text.find_first_not_of(' ');
    if (first != std::string_view::npos)
      instruction.operands = text.substr(first, text.find_last_not_of(' ') + 1 - first);
    // -json prints these two differently, and code that reads operands expects its form.
    const auto replace = [&](std::string_view form, std::string_view by) {
      const std::size_t at = instruction.operands.find(form);
      if (at != std::string::npos) instruction.operands.replace(at, form.size(), by);
    };
    if (IsLoad(ClassOf(instruction.opcode)) && !instruction.operands.starts_with('[')) replace(", [", "[");
    if (FormOf(instruction.opcode) == Form::kReturn) replace(" `(", ", `(");
    functions_.back().instructions.push_back(std::move(instruction));
    next_ = offset + kInstructionBytes;
  }

  // "B0, `(.L_x_0)" becomes "B0, 0x220", and a function's name loses the quotes.
  void Resolve(std::string& operands) const {
    for (std::size_t at = operands.find("`("); at != std::string::npos; at = operands.find("`(", at)) {
      const std::size_t close = operands.find(')', at);
      if (close == std::string::npos) return;
      std::string name = operands.substr(at + 2, close - at - 2);
      const auto label = labels_.find(name);
      if (label != labels_.end() && !names_.contains(name)) name = Hex(label->second);
      operands.replace(at, close + 1 - at, name);
      at += name.size();
    }
  }

  std::set<std::string, std::less<>> names_;  // names of functions
  std::map<std::string, std::uint64_t, std::less<>> labels_;
  std::vector<DeviceFunction> functions_;
  std::uint32_t next_ = 0;   // offset in the section of the next instruction
  std::uint32_t start_ = 0;  // the function's
};

}  // namespace

std::vector<DeviceFunction> ParseNvdisasmJson(std::string_view text) {
  try {
    return JsonFunctions().Parse(text);
  } catch (const nlohmann::json::exception& problem) {
    throw Error(std::string("nvdisasm printed invalid JSON: ") + problem.what(), kInstallNvdisasm);
  }
}

std::vector<DeviceFunction> ParseNvdisasmText(std::string_view text) {
  std::vector<DeviceFunction> functions;
  SectionText section;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.find(".section") != std::string_view::npos) section.End(functions);
    section.Read(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  section.End(functions);
  return functions;
}

}  // namespace fa_profile::sass
