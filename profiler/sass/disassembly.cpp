#include "fa_profile/disassembly.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "bundle_listing.h"
#include "byte_reader.h"
#include "code_bundle.h"
#include "elf_file.h"
#include "fa_profile/line_table.h"
#include "fa_profile/opcodes.h"
#include "kernel_attributes.h"
#include "nvdisasm.h"

namespace fa_profile::sass {
namespace {

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

}  // namespace

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
  ListBundle(bundle, nvdisasm, sm, texts, functions);
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
