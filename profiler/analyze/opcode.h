#pragma once

#include <optional>
#include <string_view>

namespace fa_profile::analyze {

/// What kind of work a machine instruction asks for.
enum class OpcodeClass {
  kTensor,       ///< matrix instructions: HMMA, HGMMA, UTCHMMA, ...
  kExponential,  ///< MUFU.EX2
  kSpecial,      ///< every other MUFU
  kFp32,
  kFp16,  ///< fp16 and bf16, two a thread
  kFp64,
  kInteger,  ///< integer and logic, moves, conversions, comparisons
  kSharedLoad,
  kSharedStore,
  kMatrixLoad,   ///< LDSM
  kMatrixStore,  ///< STSM
  kAsyncCopy,    ///< LDGSTS, and the bulk copies of TMA
  kGlobalLoad,   ///< generic loads too
  kGlobalStore,
  kLocalLoad,
  kLocalStore,
  kConstantLoad,
  kTexture,
  kBarrier,    ///< BAR: the block's barriers
  kAsyncWait,  ///< mbarriers, and waits for asynchronous copies or matrix instructions
  kFence,
  kReduction,  ///< between the threads of a warp: shuffles, votes, REDUX
  kAtomic,
  kControl,
  kUniform,  ///< integer work of the uniform datapath, one for a warp
  kOther,
};

/// Whether an opcode has a modifier: "LDS.U.128" has "128" and "U".
bool HasModifier(std::string_view opcode, std::string_view modifier);

/// Class of an opcode as nvdisasm writes it, "LDS.128", for sm_80 to sm_120; kOther when it is unknown.
OpcodeClass ClassOf(std::string_view opcode);

/// "shared_load": the name of formulas' `inst.<class>` and `thread_inst.<class>`.
std::string_view ClassName(OpcodeClass opcode_class);

/// All classes, in the order of the enumeration.
inline constexpr int kOpcodeClasses = static_cast<int>(OpcodeClass::kOther) + 1;

/// FLOPs that one warp's execution takes on the tensor cores: 2 M N K of the shape in the opcode, half of it for sparse
/// ones, which skip every other product. A warpgroup's instruction (64xNxK) is executed by four warps, each for its 16
/// rows. Integer and bit products count alike. 0 for other opcodes; nothing for a matrix instruction that does not say
/// its shape (Blackwell's UTC ones keep it in a descriptor).
std::optional<double> TensorFlops(std::string_view opcode);

/// How many products are added to one element: K of the shape in a matrix instruction's opcode. Nothing where it says
/// none.
std::optional<double> TensorDepth(std::string_view opcode);

/// FLOPs of one thread outside the tensor cores: FADD and FMUL 1, FFMA 2, the packed ones (fp16, fp32x2) twice that;
/// fp64 alike. 0 for moves, comparisons, conversions and MUFU, and for HFMA2 and HADD2 that only load a constant or
/// convert, which their `operands` tell.
double ThreadFlops(std::string_view opcode, std::string_view operands);

/// Exponentials of one thread: MUFU.EX2 1, with a packed type 2; else 0.
double ThreadExponentials(std::string_view opcode);

}  // namespace fa_profile::analyze
