#include "fa_profile/code_outline.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

#include "byte_reader.h"
#include "elf_file.h"
#include "fa_profile/error.h"
#include "fa_profile/opcodes.h"
#include "kernel_attributes.h"

namespace fa_profile::sass {
namespace {

// Bits of an instruction, as shown by nvdisasm -hex: 0 to 8 are the opcode, 12 to 15 the predicate.

std::int64_t Signed(std::uint64_t value, unsigned bits) {
  return static_cast<std::int64_t>(value << (64U - bits)) >> (64U - bits);
}

/// Where a relative branch leads. Bits 34 to 81 count four bytes; from sm_90 on, except for BSSY, they are the upper
/// part, and bits 16 to 23 the lower one.
std::uint64_t LeadsTo(std::uint32_t offset, std::uint64_t low, std::uint64_t high, bool is_split) {
  const std::int64_t upper = Signed((low >> 34U) | ((high & 0x3ffffU) << 30U), 48);
  const std::int64_t words = is_split ? upper * 256 + static_cast<std::int64_t>(low >> 16U & 0xffU) : upper;
  return offset + kInstructionBytes + static_cast<std::uint64_t>(words) * 4;
}

/// "BRA !P0, 0x2b0" depends on a second predicate, and BRA.DIV on registers: bits 82 to 95 are others than in a plain
/// branch, which has the predicate that is always true there.
bool IsPlain(std::uint64_t high) { return (high >> 18U & 0x3fffU) == 0xe0U; }

Instruction ReadOne(std::uint32_t offset, std::uint64_t low, std::uint64_t high, int sm) {
  constexpr std::uint64_t kAlways = 0x7;
  constexpr std::uint64_t kNever = 0xf;
  Instruction instruction;
  instruction.offset = offset;
  const std::uint64_t predicate = low >> 12U & 0xfU;
  const Opcode* const row = FindEncoding(low & 0x1ffU);
  if (row == nullptr || predicate == kNever) return instruction;
  instruction.opcode = row->base;
  if (predicate != kAlways) instruction.predicate = "@P";
  const bool is_split = sm >= 90;
  const std::string region = "B" + std::to_string(low >> 16U & 0xfU);
  switch (row->form) {
    case Form::kBranch:
      instruction.operands = (IsPlain(high) ? "" : "P, ") + Hex(LeadsTo(offset, low, high, is_split));
      break;
    case Form::kCall:
      instruction.operands = Hex(LeadsTo(offset, low, high, is_split));
      break;
    case Form::kRegionBegin:
      instruction.operands = region + ", " + Hex(LeadsTo(offset, low, high, false));
      break;
    case Form::kRegionEnd:
      instruction.operands = region;
      break;
    default:
      break;
  }
  return instruction;
}

DeviceFunction OutlineOf(const ElfFile& elf, const ElfFile::Symbol& symbol) {
  ByteReader text(elf.sections[symbol.section].bytes);
  text.Take(symbol.value);
  ByteReader code = text.Take(symbol.size);
  DeviceFunction function;
  function.name = symbol.name;
  function.instructions.reserve(code.left() / kInstructionBytes);
  for (std::uint32_t offset = 0; code.left() >= kInstructionBytes; offset += kInstructionBytes) {
    const std::uint64_t low = code.U64();
    function.instructions.push_back(ReadOne(offset, low, code.U64(), elf.sm));
  }
  for (const auto& [branch, targets] : ReadIndirectBranches(elf, symbol.name)) {
    const std::uint64_t index = (branch - symbol.value) / kInstructionBytes;
    if (branch < symbol.value || index >= function.instructions.size()) continue;
    std::string list;
    for (const std::uint32_t target : targets) list += (list.empty() ? "" : ", ") + Hex(target - symbol.value);
    function.instructions[index].operands = "{" + list + "}";
  }
  return function;
}

}  // namespace

bool HasOutline(int sm) {
  constexpr int kFirstSm = 70;
  constexpr int kLastSm = 129;
  return sm >= kFirstSm && sm <= kLastSm;
}

void ReadOutline(std::span<const std::uint8_t> cubin, const std::vector<std::string>& wanted,
                 const TakeFunction& take) {
  const ElfFile elf = ReadElf(cubin);
  if (!HasOutline(elf.sm)) {
    throw Error("the encoding of instructions for sm_" + std::to_string(elf.sm) + " is not known",
                "choose code from sm_70 to sm_129 with --arch");
  }
  std::vector<std::string_view> names(wanted.begin(), wanted.end());
  std::ranges::sort(names);
  for (const auto& [section, index] : elf.OuterFunctions()) {
    const ElfFile::Symbol& symbol = elf.symbols[index];
    if (std::ranges::binary_search(names, symbol.name)) take(OutlineOf(elf, symbol));
  }
}

}  // namespace fa_profile::sass
