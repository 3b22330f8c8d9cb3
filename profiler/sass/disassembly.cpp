#include "fa_profile/disassembly.h"

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "byte_reader.h"
#include "code_bundle.h"
#include "cuda_tool.h"
#include "elf_file.h"
#include "fa_profile/error.h"
#include "fa_profile/line_table.h"
#include "fa_profile/nameless_file.h"
#include "fa_profile/opcodes.h"
#include "kernel_attributes.h"

namespace fa_profile::sass {
namespace {

constexpr const char* kInstall =
    "install NVIDIA's nvdisasm of CUDA 13 or later (`pip install nvidia-cuda-nvdisasm`), or set "
    "FA_PROFILE_NVDISASM=/path/to/nvdisasm";

// Every CUDA architecture since Volta encodes an instruction in 16 bytes.
constexpr std::uint32_t kInstructionBytes = 16;

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

/// Runs nvdisasm on a cubin in a file.
class Nvdisasm {
 public:
  Nvdisasm(std::span<const std::uint8_t> cubin, const std::string& program, std::string indices, int sm)
      : program_(program), indices_(std::move(indices)), sm_(sm) {
    if (!file_.Append({reinterpret_cast<const char*>(cubin.data()), cubin.size()})) {
      throw Error(std::string("a temporary file cannot be written: ") + std::strerror(errno),
                  "set TMPDIR to a folder with more space");
    }
  }

  /// CUDA 13's nvdisasm crashes with -json on some cubins that it lists as text.
  std::vector<DeviceFunction> List() const {
    const ChildEnd json = Run("-json");
    if (json.status == 0) return ParseNvdisasmJson(json.out);
    const ChildEnd text = Run("-c");
    if (text.status == 0) return ParseNvdisasmText(text.out);
    Refuse(json);
  }

  /// The same, but absent if it fails with -json.
  std::optional<std::vector<DeviceFunction>> ListAsJson() const {
    const ChildEnd json = Run("-json");
    if (json.status != 0) return std::nullopt;
    return ParseNvdisasmJson(json.out);
  }

 private:
  ChildEnd Run(const std::string& form) const {
    // The result of its data flow analysis, targets of indirect branches, is read from the headers.
    std::vector<std::string> arguments{program_, form, "-ndf"};
    if (!indices_.empty()) arguments.insert(arguments.end(), {"-fun", indices_});
    arguments.push_back(file_.path());
    return RunCudaTool(arguments);
  }

  [[noreturn]] void Refuse(const ChildEnd& end) const {
    const std::string said = end.err.substr(0, end.err.find_last_not_of(" \n") + 1);
    if (said.find("architecture") != std::string::npos) {
      constexpr int kFirstOfCuda12 = 50;
      constexpr int kFirstOfCuda13 = 75;
      const std::string architecture = "sm_" + std::to_string(sm_);
      if (sm_ < kFirstOfCuda13) {
        const std::string older = sm_ < kFirstOfCuda12 ? "an older CUDA" : "CUDA 12";
        throw Error(
            "this version of nvdisasm no longer reads code for " + architecture + "; that of " + older + " does",
            "set FA_PROFILE_NVDISASM to nvdisasm of " + older);
      }
      throw Error("this version of nvdisasm does not read code for " + architecture + "; a newer one may",
                  "set FA_PROFILE_NVDISASM to nvdisasm of the CUDA version that compiled the code, or later");
    }
    constexpr int kCannotStart = 127;
    if (WIFEXITED(end.status) && WEXITSTATUS(end.status) == kCannotStart) {
      throw Error(program_ + " " + Describe(end), kInstall);
    }
    throw Error(program_ + " cannot read the cubin: it " + Describe(end),
                "the cubin may be damaged: build it again, or copy it again; or nvdisasm is too old: set "
                "FA_PROFILE_NVDISASM to one of the compiler's CUDA version or later");
  }

  NamelessFile file_;
  const std::string& program_;
  std::string indices_;
  int sm_;
};

// Into registers, from an address.
bool IsLoad(OpcodeClass of) {
  return of == OpcodeClass::kGlobalLoad || of == OpcodeClass::kSharedLoad || of == OpcodeClass::kMatrixLoad ||
         of == OpcodeClass::kLocalLoad;
}

// nvdisasm names the function that begins at a target. Only RET has no offset otherwise.
void ResolveTargets(const std::map<std::string_view, std::uint64_t>& starts, DeviceFunction& function) {
  for (Instruction& instruction : function.instructions) {
    const Form form = FormOf(instruction.opcode);
    if (form != Form::kCall && form != Form::kBranch && form != Form::kRegionBegin) continue;
    for (const auto& [name, start] : starts) {
      const std::size_t at = instruction.operands.find(name);
      if (at == std::string::npos) continue;
      instruction.operands.replace(at, name.size(), Hex(start));
      break;
    }
  }
}

// For an indirect branch, nvdisasm's JSON only has the register. Its possible targets are in the cubin's headers.
void ResolveIndirectBranches(const ElfFile& elf, const ElfFile::Symbol& outer, DeviceFunction& function) {
  for (const auto& [branch, targets] : ReadIndirectBranches(elf, outer.name)) {
    const auto found = std::ranges::lower_bound(function.instructions, branch - outer.value, {}, &Instruction::offset);
    if (found == function.instructions.end() || found->offset != branch - outer.value) continue;
    std::string list;
    for (const std::uint32_t target : targets) list += (list.empty() ? "" : ", ") + Hex(target - outer.value);
    found->operands += ", {" + list + "}";
  }
}

// The instructions of `outer` and of the subroutines inside it, which nvdisasm lists separately.
DeviceFunction Whole(const ElfFile& elf, const ElfFile::Symbol& outer,
                     const std::map<std::string_view, const DeviceFunction*>& listed) {
  DeviceFunction whole;
  whole.name = outer.name;
  std::map<std::string_view, std::uint64_t> starts;
  for (const ElfFile::Symbol& symbol : elf.symbols) {
    if (!symbol.is_function || symbol.section != outer.section || symbol.value < outer.value) continue;
    const auto found = listed.find(symbol.name);
    if (found == listed.end()) continue;
    const std::uint64_t start = symbol.value - outer.value;
    starts.emplace(symbol.name, start);
    for (Instruction instruction : found->second->instructions) {
      instruction.offset += static_cast<std::uint32_t>(start);
      whole.instructions.push_back(std::move(instruction));
    }
  }
  std::stable_sort(whole.instructions.begin(), whole.instructions.end(),
                   [](const Instruction& a, const Instruction& b) { return a.offset < b.offset; });
  ResolveTargets(starts, whole);
  return whole;
}

/// The wanted outer functions, as indices of symbols.
std::vector<std::uint32_t> Choose(const ElfFile& elf, const std::vector<std::string>& wanted) {
  std::vector<std::uint32_t> chosen;
  for (const auto& [section, index] : elf.OuterFunctions()) {
    if (wanted.empty() || std::ranges::find(wanted, elf.symbols[index].name) != wanted.end()) chosen.push_back(index);
  }
  return chosen;
}

/// Adds what only the cubin has, targets of indirect branches and inline stacks, and hands each function over before
/// the next gets its own: the names in the stacks take a hundred times as much memory as the code.
void Complete(std::span<const std::uint8_t> cubin, std::uint64_t crc, const ElfFile& elf,
              const std::vector<std::uint32_t>& symbols, std::vector<DeviceFunction> functions,
              const TakeFunction& take) {
  const LineTable lines(cubin);
  for (std::size_t i = 0; i < functions.size(); ++i) {
    DeviceFunction function = std::move(functions[i]);
    function.cubin_crc = crc;
    ResolveIndirectBranches(elf, elf.symbols[symbols[i]], function);
    for (Instruction& instruction : function.instructions) {
      instruction.frames = lines.Frames(function.name, instruction.offset);
    }
    take(std::move(function));
  }
}

/// The chosen functions, as listed by nvdisasm.
std::vector<DeviceFunction> List(std::span<const std::uint8_t> cubin, const ElfFile& elf, const std::string& nvdisasm,
                                 const std::vector<std::uint32_t>& chosen, bool all) {
  std::string indices;
  if (!all) {
    for (const std::uint32_t index : chosen) indices += (indices.empty() ? "" : ",") + std::to_string(index);
  }
  const std::vector<DeviceFunction> parsed = Nvdisasm(cubin, nvdisasm, indices, elf.sm).List();
  std::map<std::string_view, const DeviceFunction*> listed;
  for (const DeviceFunction& function : parsed) listed.emplace(function.name, &function);
  std::vector<DeviceFunction> functions;
  functions.reserve(chosen.size());
  for (const std::uint32_t index : chosen) functions.push_back(Whole(elf, elf.symbols[index], listed));
  return functions;
}

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

std::optional<std::string> FindNvdisasm() { return FindCudaTool("nvdisasm", "FA_PROFILE_NVDISASM"); }

std::string RequireNvdisasm() {
  if (auto nvdisasm = FindNvdisasm()) return *nvdisasm;
  throw Error("nvdisasm is missing: it disassembles the machine code", kInstall);
}

void Disassemble(std::span<const std::uint8_t> cubin, std::uint64_t crc, const std::string& nvdisasm,
                 const std::vector<std::string>& wanted, const TakeFunction& take) {
  const ElfFile elf = ReadElf(cubin);
  const std::vector<std::uint32_t> chosen = Choose(elf, wanted);
  if (chosen.empty()) return;
  Complete(cubin, crc, elf, chosen, List(cubin, elf, nvdisasm, chosen, wanted.empty()), take);
}

std::vector<DeviceFunction> Disassemble(std::span<const std::uint8_t> cubin, std::uint64_t crc,
                                        const std::string& nvdisasm, const std::vector<std::string>& wanted) {
  std::vector<DeviceFunction> functions;
  Disassemble(cubin, crc, nvdisasm, wanted, [&](DeviceFunction function) { functions.push_back(std::move(function)); });
  return functions;
}

void DisassembleTogether(const std::vector<CubinPart>& parts, const std::string& nvdisasm, InstructionTexts& texts,
                         const std::function<void(std::size_t part, DeviceFunction function)>& take) {
  CodeBundle bundle;
  std::vector<std::vector<DeviceFunction>> results(parts.size());
  std::vector<std::size_t> bundled;  // parts
  int sm = 0;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const auto& [cubin, wanted] = parts[part];
    const ElfFile elf = ReadElf(cubin);
    const std::vector<std::uint32_t> chosen = Choose(elf, wanted);
    if (!std::ranges::all_of(chosen, [&](auto index) { return bundle.Fits(cubin, elf, elf.symbols[index]); })) {
      results[part] = List(cubin, elf, nvdisasm, chosen, wanted.empty());
      continue;
    }
    for (const std::uint32_t index : chosen) {
      bundle.Add(cubin, elf, elf.symbols[index]);
      results[part].emplace_back().name = elf.symbols[index].name;
    }
    bundled.push_back(part);
    sm = elf.sm;
  }
  std::vector<DeviceFunction*> functions;
  for (const std::size_t part : bundled) {
    for (DeviceFunction& function : results[part]) functions.push_back(&function);
  }
  BundleListing(bundle, nvdisasm, sm, texts).Fill(functions);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const ElfFile elf = ReadElf(parts[part].cubin);
    Complete(parts[part].cubin, 0, elf, Choose(elf, parts[part].wanted), std::move(results[part]),
             [&](DeviceFunction function) { take(part, std::move(function)); });
  }
}

void ReadInlineStacks(std::span<const std::uint8_t> cubin, std::uint64_t crc, const std::vector<std::string>& wanted,
                      const TakeFunction& take) {
  const ElfFile elf = ReadElf(cubin);
  const LineTable lines(cubin);
  for (const auto& [section, index] : elf.OuterFunctions()) {
    const ElfFile::Symbol& symbol = elf.symbols[index];
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), symbol.name) == wanted.end()) continue;
    DeviceFunction function;
    function.cubin_crc = crc;
    function.name = symbol.name;
    const std::uint64_t bytes = std::min<std::uint64_t>(symbol.size, cubin.size());
    for (std::uint32_t offset = 0; offset + kInstructionBytes <= bytes; offset += kInstructionBytes) {
      Instruction instruction;
      instruction.offset = offset;
      instruction.frames = lines.Frames(function.name, offset);
      function.instructions.push_back(std::move(instruction));
    }
    take(std::move(function));
  }
}

std::vector<DeviceFunction> ReadInlineStacks(std::span<const std::uint8_t> cubin, std::uint64_t crc,
                                             const std::vector<std::string>& wanted) {
  std::vector<DeviceFunction> functions;
  ReadInlineStacks(cubin, crc, wanted, [&](DeviceFunction function) { functions.push_back(std::move(function)); });
  return functions;
}

std::vector<DeviceFunction> ParseNvdisasmJson(std::string_view text) {
  try {
    return JsonFunctions().Parse(text);
  } catch (const nlohmann::json::exception& problem) {
    throw Error(std::string("nvdisasm printed invalid JSON: ") + problem.what(), kInstall);
  }
}

namespace {

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

std::vector<DeviceFunction> ReadCode(std::span<const std::uint8_t> cubin, std::uint64_t crc,
                                     const std::optional<std::string>& nvdisasm,
                                     const std::vector<std::string>& wanted) {
  return nvdisasm ? Disassemble(cubin, crc, *nvdisasm, wanted) : ReadInlineStacks(cubin, crc, wanted);
}

DataLoss MissesNvdisasm() {
  return {
      "not_disassembled", "nvdisasm",
      "not found: phases are known by function and line, but not what their instructions do, and no wait is charged; "
      "ci/setup.sh installs it, or set FA_PROFILE_NVDISASM",
      1};
}

}  // namespace fa_profile::sass
