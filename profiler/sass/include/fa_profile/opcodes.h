#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "fa_profile/phase_map.h"

/// What opcodes mean, for sm_80 to sm_120. No other file names one: a reader asks by what it wants to know.
///
/// An opcode is as nvdisasm writes it, "HMMA.16816.F32": a base, which has a row in the table (opcode_table.cpp), and
/// modifiers. No function throws.
namespace fa_profile::sass {

/// What kind of work an instruction asks for.
enum class OpcodeClass : std::uint8_t {
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
  kAsyncCopy,    ///< LDGSTS, the bulk copies of TMA, UTCCP: the instruction does not wait for the data
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
inline constexpr int kOpcodeClasses = static_cast<int>(OpcodeClass::kOther) + 1;

/// "shared_load": the name of formulas' `inst.<class>` and `thread_inst.<class>`.
std::string_view ClassName(OpcodeClass opcode_class);

/// What an instruction does to whoever follows values and control through code: loads, products, exponentials and what
/// only moves a value are distinguished, and most of the rest is kOther.
enum class Form : std::uint8_t {
  kGlobalLoad,    ///< LDG, LD
  kAsyncCopy,     ///< LDGSTS: global to shared memory
  kBulkLoad,      ///< UTMALDG, UBLKCP: global to shared memory, by TMA
  kGlobalStore,   ///< STG, ST, RED
  kBulkStore,     ///< UTMASTG, UTMAREDG, UBLKRED: shared to global memory, by TMA
  kRemoteStore,   ///< STAS, REDAS: into the shared memory of a block of the cluster
  kTensorCopy,    ///< UTCCP, UTCSHIFT: shared to tensor memory, and inside it
  kSharedLoad,    ///< LDS, LDSM
  kSharedStore,   ///< STS, STSM
  kSharedAtomic,  ///< ATOMS
  kLocalLoad,
  kLocalStore,
  kMatrix,           ///< HMMA and its kin: all operands in registers
  kWarpgroupMatrix,  ///< HGMMA and its kin: operand B, and often A, in shared memory
  kTensorMemory,     ///< Blackwell's UTC matrix instructions: all operands named by descriptors
  kUnknownMatrix,    ///< an opcode that ends in MMA and is not in the table
  kMultiply,         ///< FMUL, FFMA and their kin
  kAdd,              ///< floating point
  kMaximum,          ///< floating point
  kExponential,      ///< MUFU.EX2
  kReciprocal,       ///< MUFU.RCP
  kMove,             ///< copies and selections: the value stays what it is
  kShuffle,          ///< a move between threads
  kConversion,       ///< a move into another floating-point type
  kAddress,          ///< integer arithmetic, special registers, constants that addresses and counters are made of
  kCompare,          ///< defines predicates only
  kBarrier,          ///< BAR
  kMbarrier,         ///< SYNCS
  kCopyArrival,      ///< ARRIVES: an mbarrier that the thread's copies complete
  kCopyGroupEnd,     ///< LDGDEPBAR
  kStoreGroupEnd,    ///< UTMACMDFLUSH
  kGroupWait,        ///< DEPBAR: waits for groups of copies or stores
  kSync,             ///< every other wait, and fences
  kWarpgroup,        ///< WARPGROUP: order of warpgroup matrix instructions
  kBranch,           ///< BRA, JMP: to the offset that ends the operands
  kIndirectBranch,   ///< BRX, JMX
  kCall,
  kExit,         ///< EXIT, KILL
  kReturn,       ///< RET
  kRegionBegin,  ///< BSSY
  kRegionEnd,    ///< BSYNC: goes on where the BSSY of its register says
  kTrap,         ///< BPT
  kNop,
  kConvergence,  ///< other control that moves no value: WARPSYNC, YIELD, PMTRIG
  kOther,
};

constexpr bool IsBulkCopy(Form form) { return form == Form::kBulkLoad || form == Form::kBulkStore; }
constexpr bool IsGlobalStore(Form form) { return form == Form::kGlobalStore || form == Form::kBulkStore; }
constexpr bool IsMove(Form form) { return form >= Form::kMove && form <= Form::kConversion; }
constexpr bool IsSync(Form form) { return form >= Form::kBarrier && form <= Form::kSync; }
constexpr bool IsBranch(Form form) { return form == Form::kBranch || form == Form::kIndirectBranch; }
constexpr bool IsEnd(Form form) { return form == Form::kExit || form == Form::kReturn; }
constexpr bool IsConvergence(Form form) { return form >= Form::kRegionBegin && form <= Form::kConvergence; }
/// A branch, call, end, or convergence.
constexpr bool IsControl(Form form) { return form >= Form::kBranch && form <= Form::kConvergence; }

/// What an instruction computes of integers, as far as addresses and counters are made of it.
enum class IntegerOp : std::uint8_t {
  kNone,
  kCopy,         ///< of its only source; floating point too
  kSelect,       ///< one of two sources; floating point too
  kMinimum,      ///< or maximum
  kAdd,          ///< of two or three sources
  kMultiplyAdd,  ///< a * b + c
  kShiftAdd,     ///< (a << constant) + b
  kShift,
  kLogic,    ///< of three sources, by truth table
  kCompare,  ///< into predicates
};

/// The phase of instructions in code that names none, and that cannot be inferred.
enum class OpcodePhase : std::uint8_t { kBarriers, kMatrix, kReduction, kLoads, kStores, kControl, kArithmetic };

/// A row of the table.
struct Opcode {
  struct Traits {
    bool defines_nothing = false;          ///< its first operand is only read
    bool predicate_first = false;          ///< it may define a predicate and, behind it, a register
    bool two_predicates = false;           ///< it may define two predicates
    bool wide = false;                     ///< result and sources have 64 bits, unless a modifier says 32
    int flops = 0;                         ///< of one thread
    IntegerOp integer = IntegerOp::kNone;  ///< without modifiers
    std::uint16_t encoding = 0;            ///< of a matrix instruction: bits 0 to 8 of its machine code
  };

  std::string_view base{};  ///< "HMMA"
  OpcodeClass opcode_class = OpcodeClass::kOther;
  Form form = Form::kOther;  ///< without modifiers
  OpcodePhase phase = OpcodePhase::kArithmetic;
  Traits traits{};
};

/// The rows, sorted by base.
std::span<const Opcode> OpcodeTable();

/// The row of an opcode. Of one that is not in the table a row without a base: uniform work when it begins with U, a
/// matrix instruction of an unknown form when it ends in MMA.
const Opcode& FindOpcode(std::string_view opcode);

/// Whether these are bits 0 to 8 of a matrix instruction's machine code.
bool IsMatrixEncoding(std::uint64_t bits);

/// Phases for code without line information or phase functions: matrix, exponential and reduction, loads, stores,
/// barriers, control, other arithmetic, by opcode.
PhaseMap OpcodePhases();

OpcodeClass ClassOf(std::string_view opcode);

/// Never kCompare, which follows from the operands.
Form FormOf(std::string_view opcode);

/// kNone where a modifier makes it another operation: a carry that comes in, the upper half, a shift to the right.
IntegerOp IntegerOpOf(std::string_view opcode);

/// What an integer comparison asks of its operands.
struct IntegerComparison {
  bool less = false;     ///< it holds for a < b
  bool equal = false;    ///< it holds for a == b
  bool greater = false;  ///< it holds for a > b
  bool is_unsigned = false;
};

/// Nothing where the opcode compares no integers, or goes on with a comparison of their lower halves.
std::optional<IntegerComparison> ReadIntegerComparison(std::string_view opcode);

/// Registers of 32 bits that the data of an instruction take, 1 to 4.
int RegistersOf(std::string_view opcode);

/// Bytes that a thread loads or stores, 1 to 16.
int AccessBytes(std::string_view opcode);

/// Whether a modifier says that the result has 64 bits.
bool Makes64Bits(std::string_view opcode);

/// Whether sources have the width of the result.
bool HasWideSources(std::string_view opcode);

/// Registers of one thread that hold its parts of A, B and C.
struct MatrixFragments {
  int a = 0;
  int b = 0;
  int c = 0;
};

/// Of a kMatrix or kWarpgroupMatrix, in registers (PTX ISA, "Matrix fragments"). The accumulator of a warpgroup's 64xN
/// has N/2 registers in fp32, N/4 in fp16.
MatrixFragments FragmentsOf(std::string_view opcode);

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

/// Whether ncu's count of HMMA instructions has it.
bool IsHmma(std::string_view opcode);

/// A load that says it is the last of its register's place in local memory.
bool IsLastUse(std::string_view opcode);

/// A barrier of the block: whether warps wait at it, BAR.SYNC and BAR.RED, or only arrive, BAR.ARV.
bool WaitsAtBarrier(std::string_view opcode);
bool ArrivesAtBarrier(std::string_view opcode);

/// Asks an mbarrier whether its phase is over, SYNCS.PHASECHK.
bool AsksMbarrier(std::string_view opcode);

/// Tells an mbarrier of a warp that has read or written; not how many bytes a copy will bring.
bool ArrivesAtMbarrier(std::string_view opcode);

/// A copy by TMA into shared memory, which completes an mbarrier.
bool FillsSharedMemory(std::string_view opcode);

/// Orders registers before the next products of the warpgroup, WARPGROUP.ARRIVE, or waits for a group of them,
/// WARPGROUP.DEPBAR.
bool BeginsProducts(std::string_view opcode);
bool WaitsForProducts(std::string_view opcode);

/// BRA.DIV: leads to code for threads that diverged, which does the same as the code after the branch.
bool BranchesWhereDiverged(std::string_view opcode);

/// BPT.TRAP: ends the kernel with an error.
bool IsTrap(std::string_view opcode);

}  // namespace fa_profile::sass
