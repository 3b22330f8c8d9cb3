#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "fa_profile/opcodes.h"
#include "fa_profile/recording.h"

namespace fa_profile::analyze {

using sass::Form;

/// A 32-bit register or a predicate: R0..R255, UR0..UR255, P0..P6, UP0..UP6, one after the other.
using Slot = std::uint16_t;
inline constexpr Slot kFirstUniform = 256;
inline constexpr Slot kFirstPredicate = 512;
inline constexpr Slot kFirstUniformPredicate = 520;
inline constexpr Slot kSlots = 528;

inline bool IsPredicate(Slot slot) { return slot >= kFirstPredicate; }

/// What a value is used for. A, B, C: the first, second and third source that is not an address; for a product its
/// factors, then what it is added to. Further sources are also C.
enum class Role : std::uint8_t { kA, kB, kC, kAddress, kGuard, kSelect };

/// Whether the value itself, not an address or a condition, goes into the result.
inline bool IsData(Role role) { return role <= Role::kC; }

struct Use {
  Slot slot = 0;
  Role role = Role::kA;
};

/// The predicate before an instruction, "@!P0".
struct Guard {
  Slot slot = 0;
  bool negated = false;
  bool operator==(const Guard&) const = default;
};

struct Operands {
  Form form = Form::kOther;
  std::optional<Guard> guard;
  bool never = false;  ///< "@!PT": it never runs
  std::vector<Slot> definitions;
  std::vector<Use> uses;  ///< includes the guard's
  int sources = 0;        ///< operands with a role A, B or C, constants included
};

/// Definitions and uses of an instruction in nvdisasm's format, for sm_80 to sm_100. Never throws: unreadable ones
/// define and use nothing. Widths follow from opcode and shape: a 128-bit load defines four registers, HGMMA of 64xNxK
/// in fp32 N/2, HMMA.16816 reads four for A and two for B.
Operands ReadOperands(const Instruction& instruction);

/// Operands as text, without ".reuse". nvdisasm's JSON glues a register to the address after it, "R8[UR4]", and two
/// addresses to each other: these are split. "c[0x0][0x28]", "desc[UR4][R2.64]" and "gdesc[UR4]" stay whole.
std::vector<std::string_view> SplitOperands(std::string_view operands);

/// The slot at the start of `text`, "UR4" in "UR4+0x10]"; `length`: its characters. Nothing for RZ, PT or any other
/// text.
std::optional<Slot> ReadSlot(std::string_view text, std::size_t* length = nullptr);

/// The operand that is an address in shared or local memory, "[R0+UR4+0x600]"; empty if there is none.
std::string_view SharedAddress(const Instruction& instruction);

/// Multiply-adds of one warp: for matrix instructions by shape, for four warps a quarter each; 1 or 2 for kMultiply;
/// else 0. Nothing for a matrix instruction that does not state its shape.
std::optional<double> MultiplyAdds(const Instruction& instruction, Form form);

}  // namespace fa_profile::analyze
