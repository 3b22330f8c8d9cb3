#include "opcode.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>
#include <utility>

namespace fa_profile::analyze {
namespace {

using enum OpcodeClass;

struct ClassRow {
  OpcodeClass opcode_class;
  std::string_view name;
  std::string_view opcodes;  // without modifiers, separated by spaces
};

// In the order of the enumeration. Opcodes from the instruction set tables of the CUDA Binary Utilities document,
// Ampere to Blackwell. What begins with U and is not named here works on the uniform datapath.
constexpr ClassRow kClasses[] = {
    {kTensor, "tensor", "HMMA IMMA DMMA BMMA QMMA OMMA HGMMA IGMMA QGMMA BGMMA UTCHMMA UTCIMMA UTCQMMA UTCOMMA"},
    {kExponential, "exponential", ""},  // MUFU.EX2
    {kSpecial, "special", "MUFU"},
    {kFp32, "fp32",
     "FADD FADD2 FADD32I FCHK FFMA FFMA2 FFMA32I FHADD FHFMA FMNMX FMNMX3 FMUL FMUL2 FMUL32I FSEL FSET FSETP FSWZADD"},
    {kFp16, "fp16",
     "HADD2 HADD2_32I HFMA2 HFMA2_32I HMNMX2 HMUL2 HMUL2_32I HSET2 HSETP2 VHMNMX HADD2_BF16_V2 HFMA2_BF16_V2"},
    {kFp64, "fp64", "DADD DFMA DMUL DSETP DMNMX DSET"},
    {kInteger, "integer",
     "BMSK BREV FLO IABS IADD IADD3 IADD32I IDP IDP4A IMAD IMNMX IMUL IMUL32I ISCADD ISCADD32I ISETP LEA LOP LOP3 "
     "LOP32I POPC SHF SHL SHR VABSDIFF VABSDIFF4 VIADD VIADDMNMX VIMNMX VIMNMX3 F2F F2FP F2I F2IP FRND I2F I2FP I2I "
     "I2IP MOV MOV32I MOVM PRMT SEL SGXT CS2R S2R S2UR R2UR R2P P2R PLOP3 PSETP CSMTEST LEPC GETLMEMBASE SETLMEMBASE "
     "IADD64 UR2UP"},
    {kSharedLoad, "shared_load", "LDS"},
    {kSharedStore, "shared_store", "STS"},
    {kMatrixLoad, "matrix_load", "LDSM LDTM"},
    {kMatrixStore, "matrix_store", "STSM STTM"},
    {kAsyncCopy, "async_copy",
     "LDGSTS UBLKCP UBLKPF UBLKRED UTMALDG UTMAPF UTMASTG UTMAREDG UTCCP UTCSHIFT STAS REDAS"},
    {kGlobalLoad, "global_load", "LDG LD"},
    {kGlobalStore, "global_store", "STG ST"},
    {kLocalLoad, "local_load", "LDL"},
    {kLocalStore, "local_store", "STL"},
    {kConstantLoad, "constant_load", "LDC LDCU ULDC"},
    {kTexture, "texture", "TEX TLD TLD4 TMML TXD TXQ SULD SUST SURED SUATOM SUQUERY"},
    {kBarrier, "barrier", "BAR B2R"},
    {kAsyncWait, "async_wait",
     "SYNCS DEPBAR LDGDEPBAR ARRIVES WARPGROUP WARPGROUPSET UTMACMDFLUSH UTCBAR UCGABAR_ARV UCGABAR_WAIT CGABAR_ARV "
     "CGABAR_WAIT CGABAR_GET CGABAR_SET LDTDEPBAR ACQBULK"},
    {kFence, "fence", "MEMBAR ERRBAR FENCE CCTL CCTLL CCTLT"},
    {kReduction, "reduction", "SHFL VOTE VOTEU MATCH REDUX CREDUX"},
    {kAtomic, "atomic", "ATOM ATOMG ATOMS RED REDG"},
    {kControl, "control",
     "BMOV BPT BRA BREAK BRX BRXU BSSY BSYNC CALL ELECT ENDCOLLECTIVE EXIT JMP JMX JMXU KILL NANOSLEEP NOP PREEXIT RET "
     "RPCMOV RTT USETMAXREG WARPSYNC YIELD"},
    {kUniform, "uniform", ""},
    {kOther, "other", ""},
};
static_assert(std::size(kClasses) == kOpcodeClasses);
static_assert([] {
  for (std::size_t i = 0; i < std::size(kClasses); ++i) {
    if (static_cast<std::size_t>(kClasses[i].opcode_class) != i) return false;
  }
  return true;
}());

const std::unordered_map<std::string_view, OpcodeClass>& ClassByName() {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, OpcodeClass> result;
    for (const ClassRow& row : kClasses) {
      for (std::string_view rest = row.opcodes; !rest.empty();) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        result.emplace(rest.substr(0, end), row.opcode_class);
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
    return result;
  }();
  return by_name;
}

/// "HMMA" of "HMMA.16816.F32".
std::string_view Base(std::string_view opcode) { return opcode.substr(0, opcode.find('.')); }

std::optional<int> Number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

/// M N K of "16816", "8832" (M is 16 or 8, N is 8) or "64x128x16".
std::optional<std::array<double, 3>> ReadTensorShape(std::string_view shape) {
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
  std::array<double, 3> result{};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto size = Number(sizes[i]);
    if (!size) return std::nullopt;
    result[i] = *size;
  }
  return result;
}

/// Of a matrix instruction: the first modifier that is a shape.
std::optional<std::array<double, 3>> TensorShape(std::string_view opcode) {
  for (std::size_t dot = opcode.find('.'); dot != std::string_view::npos;) {
    const std::size_t next = opcode.find('.', dot + 1);
    const auto shape = ReadTensorShape(opcode.substr(dot + 1, next == std::string_view::npos ? next : next - dot - 1));
    if (shape) return shape;
    dot = next;
  }
  return std::nullopt;
}

struct FlopsRow {
  std::string_view opcode;
  double flops;
};
constexpr FlopsRow kFlops[] = {
    {"FADD", 1},          {"FADD32I", 1}, {"FADD2", 2},         {"FMUL", 1},      {"FMUL32I", 1},   {"FMUL2", 2},
    {"FFMA", 2},          {"FFMA32I", 2}, {"FFMA2", 4},         {"FHADD", 1},     {"FHFMA", 2},     {"FSWZADD", 1},
    {"HADD2", 2},         {"HMUL2", 2},   {"HFMA2", 4},         {"HADD2_32I", 2}, {"HMUL2_32I", 2}, {"HFMA2_32I", 4},
    {"HADD2_BF16_V2", 2}, {"DADD", 1},    {"HFMA2_BF16_V2", 4}, {"DMUL", 1},      {"DFMA", 2},
};

}  // namespace

bool HasModifier(std::string_view opcode, std::string_view modifier) {
  for (std::size_t dot = opcode.find('.'); dot != std::string_view::npos;) {
    const std::size_t next = opcode.find('.', dot + 1);
    if (opcode.substr(dot + 1, next == std::string_view::npos ? next : next - dot - 1) == modifier) return true;
    dot = next;
  }
  return false;
}

OpcodeClass ClassOf(std::string_view opcode) {
  const std::string_view base = Base(opcode);
  const auto found = ClassByName().find(base);
  if (found == ClassByName().end()) return base.starts_with('U') ? kUniform : kOther;
  if (found->second == kSpecial && HasModifier(opcode, "EX2")) return kExponential;
  return found->second;
}

std::string_view ClassName(OpcodeClass opcode_class) { return kClasses[static_cast<std::size_t>(opcode_class)].name; }

std::optional<double> TensorFlops(std::string_view opcode) {
  if (ClassOf(opcode) != kTensor) return 0.0;
  const bool warpgroup = Base(opcode).ends_with("GMMA");
  const double sparsity = HasModifier(opcode, "SP") ? 0.5 : 1.0;
  const auto shape = TensorShape(opcode);
  if (!shape) return std::nullopt;
  const auto [m, n, k] = *shape;
  return 2.0 * m * n * k * sparsity / (warpgroup ? 4.0 : 1.0);
}

std::optional<double> TensorDepth(std::string_view opcode) {
  if (ClassOf(opcode) != kTensor) return std::nullopt;
  const auto shape = TensorShape(opcode);
  return shape ? std::optional((*shape)[2]) : std::nullopt;
}

double ThreadFlops(std::string_view opcode, std::string_view operands) {
  const std::string_view base = Base(opcode);
  // "HFMA2 R1, -RZ, RZ, 1.875, 0" loads a constant, "HADD2.F32 R1, -RZ, R2.H0_H0" converts to fp32.
  if (base.starts_with('H') && operands.find("-RZ, ") != std::string_view::npos) return 0.0;
  const auto found = std::ranges::find(kFlops, base, &FlopsRow::opcode);
  return found == std::end(kFlops) ? 0.0 : found->flops;
}

double ThreadExponentials(std::string_view opcode) {
  if (ClassOf(opcode) != kExponential) return 0.0;
  const bool packed = HasModifier(opcode, "F16x2") || HasModifier(opcode, "F16X2") || HasModifier(opcode, "BF16_V2");
  return packed ? 2.0 : 1.0;
}

}  // namespace fa_profile::analyze
