#include "fa_profile/opcodes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <utility>

namespace fa_profile::sass {
namespace {

/// Calls `visit` with each modifier, "16816" and "F32" in "HMMA.16816.F32", until it returns true. Returns whether it
/// did.
template <typename Visit>
bool AnyModifier(std::string_view opcode, const Visit& visit) {
  for (std::size_t dot = opcode.find('.'); dot != std::string_view::npos;) {
    const std::size_t next = opcode.find('.', dot + 1);
    if (visit(opcode.substr(dot + 1, next == std::string_view::npos ? next : next - dot - 1))) return true;
    dot = next;
  }
  return false;
}

bool HasModifier(std::string_view opcode, std::string_view modifier) {
  return AnyModifier(opcode, [&](std::string_view one) { return one == modifier; });
}

bool HasAnyModifier(std::string_view opcode, std::initializer_list<std::string_view> modifiers) {
  return AnyModifier(opcode,
                     [&](std::string_view one) { return std::ranges::find(modifiers, one) != modifiers.end(); });
}

std::optional<int> Number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

/// M N K.
using Shape = std::array<int, 3>;

/// For "16816", "8832" (M is 16 or 8, N is 8) or "64x128x16".
std::optional<Shape> ReadTensorShape(std::string_view shape) {
  std::array<std::string_view, 3> sizes;
  if (const std::size_t first = shape.find('x'); first != std::string_view::npos) {
    const std::size_t second = shape.find('x', first + 1);
    if (second == std::string_view::npos) return std::nullopt;
    sizes = {shape.substr(0, first), shape.substr(first + 1, second - first - 1), shape.substr(second + 1)};
  } else {
    const std::size_t m = shape.starts_with("16") ? 2 : 1;
    if (shape.size() < m + 2) return std::nullopt;
    sizes = {shape.substr(0, m), shape.substr(m, 1), shape.substr(m + 1)};
  }
  Shape result{};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto size = Number(sizes[i]);
    if (!size) return std::nullopt;
    result[i] = *size;
  }
  return result;
}

/// A matrix instruction's shape: the first modifier that is one.
std::optional<Shape> TensorShape(std::string_view opcode) {
  std::optional<Shape> shape;
  AnyModifier(opcode, [&](std::string_view modifier) {
    shape = ReadTensorShape(modifier);
    return shape.has_value();
  });
  return shape;
}

/// How an LDTM or STTM spreads over registers and columns: "LDTM.x32", "STTM.16dp256bit.x4".
struct TensorAccess {
  int repeats = 1;          ///< 32 in "x32"
  int bits = 32;            ///< 256 in "16dp256bit"
  bool half_lanes = false;  ///< 16 lanes, with 64 bits or more in each: two threads have a lane's
};

TensorAccess ReadTensorAccess(std::string_view opcode) {
  TensorAccess access;
  AnyModifier(opcode, [&](std::string_view modifier) {
    if (modifier.starts_with('x')) access.repeats = Number(modifier.substr(1)).value_or(1);
    constexpr std::string_view kHalf = "16dp";
    const std::size_t unit = modifier.find("bit");
    if (modifier.starts_with(kHalf) && unit != std::string_view::npos) {
      access.bits = Number(modifier.substr(kHalf.size(), unit - kHalf.size())).value_or(32);
      access.half_lanes = access.bits > 32;
    }
    return false;
  });
  constexpr int kMostRepeats = 128;
  access.repeats = std::min(access.repeats, kMostRepeats);
  access.bits = std::min(access.bits, 256);
  return access;
}

}  // namespace

OpcodeClass ClassOf(std::string_view opcode) {
  const OpcodeClass found = FindOpcode(opcode).opcode_class;
  return found == OpcodeClass::kSpecial && HasModifier(opcode, "EX2") ? OpcodeClass::kExponential : found;
}

Form FormOf(std::string_view opcode) {
  const Opcode& row = FindOpcode(opcode);
  if (row.opcode_class == OpcodeClass::kSpecial) {
    if (HasModifier(opcode, "EX2")) return Form::kExponential;
    return HasModifier(opcode, "RCP") ? Form::kReciprocal : Form::kOther;
  }
  // A 64-bit product, or the upper half of one, is an address or a quotient; any other may be a move.
  if (row.traits.integer == IntegerOp::kMultiplyAdd && row.form == Form::kOther) {
    if (HasAnyModifier(opcode, {"WIDE", "HI", "X"})) return Form::kAddress;
    return HasModifier(opcode, "MOV") ? Form::kMove : Form::kOther;
  }
  return row.form;
}

IntegerOp IntegerOpOf(std::string_view opcode) {
  const IntegerOp op = FindOpcode(opcode).traits.integer;
  switch (op) {
    case IntegerOp::kAdd:
      return HasModifier(opcode, "X") ? IntegerOp::kNone : op;
    case IntegerOp::kMultiplyAdd:
      return HasAnyModifier(opcode, {"HI", "X"}) ? IntegerOp::kNone : op;
    case IntegerOp::kShiftAdd:
      return HasModifier(opcode, "HI") ? IntegerOp::kNone : op;
    case IntegerOp::kShift:
      return HasModifier(opcode, "L") ? op : IntegerOp::kNone;
    default:
      return op;
  }
}

std::optional<IntegerComparison> ReadIntegerComparison(std::string_view opcode) {
  if (FindOpcode(opcode).traits.integer != IntegerOp::kCompare || HasModifier(opcode, "EX") ||
      !HasModifier(opcode, "AND")) {
    return std::nullopt;
  }
  const bool is_unsigned = HasModifier(opcode, "U32");
  constexpr std::pair<std::string_view, IntegerComparison> kComparisons[] = {
      {"LT", {.less = true}},    {"LE", {.less = true, .equal = true}},
      {"GT", {.greater = true}}, {"GE", {.equal = true, .greater = true}},
      {"EQ", {.equal = true}},   {"NE", {.less = true, .greater = true}}};
  for (auto [name, comparison] : kComparisons) {
    if (!HasModifier(opcode, name)) continue;
    comparison.is_unsigned = is_unsigned;
    return comparison;
  }
  return std::nullopt;
}

int TensorColumns(std::string_view opcode) {
  const TensorAccess access = ReadTensorAccess(opcode);
  return access.repeats * access.bits / 32;
}

std::optional<ProductShape> ShapeOf(std::string_view opcode, std::uint32_t descriptor) {
  const int n = static_cast<int>(descriptor >> 17U & 0x3fU) * 8;
  const int m = static_cast<int>(descriptor >> 24U & 0x1fU) * 16;
  if (n == 0 || m < 64 || m > 256) return std::nullopt;
  const std::string_view base = FindOpcode(opcode).base;
  const int k = HasModifier(opcode, "TF32") ? 8 : base == "UTCHMMA" ? 16 : base == "UTCOMMA" ? 64 : 32;
  return ProductShape{m, n, k};
}

int RegistersOf(std::string_view opcode) {
  const Opcode& row = FindOpcode(opcode);
  if (row.form == Form::kTensorLoad || row.form == Form::kTensorStore) {
    const TensorAccess access = ReadTensorAccess(opcode);
    return std::min(128, access.half_lanes ? access.repeats * access.bits / 64 : access.repeats);
  }
  const bool loads_tiles = row.opcode_class == OpcodeClass::kMatrixLoad && row.form == Form::kSharedLoad;
  const bool stores_tiles = row.opcode_class == OpcodeClass::kMatrixStore && row.form == Form::kSharedStore;
  if (loads_tiles || stores_tiles) {
    const char last = opcode.back();
    return last == '2' || last == '4' ? last - '0' : 1;
  }
  if (HasModifier(opcode, "128")) return 4;
  if (Makes64Bits(opcode)) return 2;
  return row.traits.wide && !HasModifier(opcode, "32") ? 2 : 1;
}

int BulkAddressRegisters(std::string_view opcode) {
  constexpr int kAddresses = 2;
  constexpr int kMostDimensions = 5;
  int dimensions = 0;
  AnyModifier(opcode, [&](std::string_view modifier) {
    if (modifier.size() == 2 && modifier[1] == 'D') dimensions = Number(modifier.substr(0, 1)).value_or(0);
    return dimensions > 0;
  });
  return kAddresses + (dimensions > 0 ? std::min(dimensions, kMostDimensions) : kMostDimensions - 1);
}

int AccessBytes(std::string_view opcode) {
  if (HasModifier(opcode, "128")) return 16;
  if (HasModifier(opcode, "64")) return 8;
  if (HasAnyModifier(opcode, {"U16", "S16", "16"})) return 2;
  return HasAnyModifier(opcode, {"U8", "S8", "8"}) ? 1 : 4;
}

bool Makes64Bits(std::string_view opcode) { return HasAnyModifier(opcode, {"64", "WIDE"}); }

bool HasWideSources(std::string_view opcode) {
  const Opcode::Traits& traits = FindOpcode(opcode).traits;
  const bool copies_or_adds = traits.integer == IntegerOp::kCopy || traits.integer == IntegerOp::kAdd;
  return traits.wide || (copies_or_adds && HasModifier(opcode, "64"));
}

MatrixFragments FragmentsOf(std::string_view opcode) {
  const Opcode& row = FindOpcode(opcode);
  const bool is_half = row.base == "HMMA" || row.base == "HGMMA";
  const bool sums_in_halves = is_half && !HasModifier(opcode, "F32");
  if (row.form == Form::kWarpgroupMatrix) {
    constexpr int kLeastN = 8;
    constexpr int kMostN = 256;
    const auto shape = TensorShape(opcode);
    const int n = std::clamp(shape ? (*shape)[1] : 0, kLeastN, kMostN);
    return {4, 0, sums_in_halves ? n / 4 : n / 2};
  }
  MatrixFragments registers{2, 1, 4};
  if (HasAnyModifier(opcode, {"16816", "16832"})) registers = {4, 2, 4};
  if (HasModifier(opcode, "TF32") && !HasModifier(opcode, "1684")) registers = {4, 2, 4};
  if (row.base == "IMMA" && HasModifier(opcode, "16816")) registers = {2, 1, 4};
  if (row.base == "DMMA") registers = {2, 2, 4};
  if (sums_in_halves) registers.c = 2;
  return registers;
}

std::optional<double> TensorFlops(std::string_view opcode) {
  const Opcode& row = FindOpcode(opcode);
  if (row.opcode_class != OpcodeClass::kTensor) return 0.0;
  const double sparsity = HasModifier(opcode, "SP") ? 0.5 : 1.0;
  const auto shape = TensorShape(opcode);
  if (!shape) return std::nullopt;
  const auto [m, n, k] = *shape;
  return 2.0 * m * n * k * sparsity / (row.form == Form::kWarpgroupMatrix ? 4.0 : 1.0);
}

std::optional<double> TensorDepth(std::string_view opcode) {
  if (FindOpcode(opcode).opcode_class != OpcodeClass::kTensor) return std::nullopt;
  const auto shape = TensorShape(opcode);
  return shape ? std::optional<double>((*shape)[2]) : std::nullopt;
}

double ThreadFlops(std::string_view opcode, std::string_view operands) {
  const Opcode& row = FindOpcode(opcode);
  // "HFMA2 R1, -RZ, RZ, 1.875, 0" loads a constant, "HADD2.F32 R1, -RZ, R2.H0_H0" converts to fp32.
  if (row.opcode_class == OpcodeClass::kFp16 && operands.find("-RZ, ") != std::string_view::npos) return 0.0;
  return row.traits.flops;
}

double ThreadExponentials(std::string_view opcode) {
  if (ClassOf(opcode) != OpcodeClass::kExponential) return 0.0;
  return HasAnyModifier(opcode, {"F16x2", "F16X2", "BF16_V2"}) ? 2.0 : 1.0;
}

bool IsHmma(std::string_view opcode) { return FindOpcode(opcode).base == "HMMA"; }

bool IsLastUse(std::string_view opcode) { return HasModifier(opcode, "LU"); }

bool WaitsAtBarrier(std::string_view opcode) {
  return FormOf(opcode) == Form::kBarrier && HasAnyModifier(opcode, {"SYNC", "RED"});
}

bool ArrivesAtBarrier(std::string_view opcode) {
  return FormOf(opcode) == Form::kBarrier && HasModifier(opcode, "ARV");
}

bool AsksMbarrier(std::string_view opcode) {
  return FormOf(opcode) == Form::kMbarrier && HasModifier(opcode, "PHASECHK");
}

bool ArrivesAtMbarrier(std::string_view opcode) {
  return FormOf(opcode) == Form::kMbarrier && HasModifier(opcode, "ARRIVE") && opcode.ends_with(".A1T0");
}

// UBLKCP states destination and source, "UBLKCP.S.G"; UTMALDG has no choice.
bool FillsSharedMemory(std::string_view opcode) {
  const Opcode& row = FindOpcode(opcode);
  return row.form == Form::kBulkLoad && (row.base != "UBLKCP" || opcode.starts_with("UBLKCP.S."));
}

bool BeginsProducts(std::string_view opcode) {
  return FormOf(opcode) == Form::kWarpgroup && HasModifier(opcode, "ARRIVE");
}

bool WaitsForProducts(std::string_view opcode) {
  return FormOf(opcode) == Form::kWarpgroup && HasModifier(opcode, "DEPBAR");
}

bool BranchesWhereDiverged(std::string_view opcode) {
  return FormOf(opcode) == Form::kBranch && HasModifier(opcode, "DIV");
}

bool IsTrap(std::string_view opcode) { return FormOf(opcode) == Form::kTrap && HasModifier(opcode, "TRAP"); }

}  // namespace fa_profile::sass
