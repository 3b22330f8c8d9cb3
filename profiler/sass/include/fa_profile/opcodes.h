#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "fa_profile/phase_map.h"

/// The meaning of opcodes, for sm_80 to sm_120. No other file names one: readers ask for the properties that they need.
///
/// An opcode has nvdisasm's form, "HMMA.16816.F32": a base, which has a row in the table (opcode_table.cpp), and
/// modifiers. No function throws.
namespace fa_profile::sass {

/// The kind of work that an instruction requests.
enum class OpcodeClass : std::uint8_t {
  kTensor,       ///< matrix instructions: HMMA, HGMMA, UTCHMMA, ...
  kExponential,  ///< MUFU.EX2
  kSpecial,      ///< every other MUFU
  kFp32,
  kFp16,  ///< fp16 and bf16, two per thread
  kFp64,
  kInteger,  ///< integer and logic, moves, conversions, comparisons
  kSharedLoad,
  kSharedStore,
  kMatrixLoad,   ///< LDSM
  kMatrixStore,  ///< STSM
  kAsyncCopy,    ///< LDGSTS, the bulk copies of TMA, UTCCP: the instruction does not wait for the data
  kGlobalLoad,   ///< including generic loads
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
  kUniform,  ///< integer work of the uniform datapath, one per warp
  kOther,
};
inline constexpr int kOpcodeClasses = static_cast<int>(OpcodeClass::kOther) + 1;

/// "shared_load": the name used in formulas, as in `inst.<class>` and `thread_inst.<class>`.
std::string_view ClassName(OpcodeClass opcode_class);

/// The role of an instruction for code that follows values and control flow: loads, products, exponentials and mere
/// moves of a value are distinguished, and most of the rest is kOther.
enum class Form : std::uint8_t {
  kGlobalLoad,    ///< LDG, LD
  kAsyncCopy,     ///< LDGSTS: global to shared memory
  kBulkLoad,      ///< UTMALDG, UBLKCP: global to shared memory, by TMA
  kGlobalStore,   ///< STG, ST, RED
  kBulkStore,     ///< UTMASTG, UTMAREDG, UBLKRED: shared to global memory, by TMA
  kRemoteStore,   ///< STAS, REDAS: into the shared memory of a block of the cluster
  kTensorCopy,    ///< UTCCP, UTCSHIFT: shared to tensor memory, and inside it
  kTensorLoad,    ///< LDTM: tensor memory to registers
  kTensorStore,   ///< STTM: registers to tensor memory
  kSharedLoad,    ///< LDS, LDSM
  kSharedStore,   ///< STS, STSM
  kSharedAtomic,  ///< ATOMS
  kLocalLoad,
  kLocalStore,
  kMatrix,           ///< HMMA and its kin: all operands in registers
  kWarpgroupMatrix,  ///< HGMMA and its kin: operand B, and often A, in shared memory
  kTensorMemory,     ///< UTCHMMA and its kin: result, and often A, in tensor memory; the rest in shared memory
  kUnknownMatrix,    ///< an opcode that ends in MMA and is not in the table
  kMultiply,         ///< FMUL, FFMA and their kin
  kAdd,              ///< floating point
  kMaximum,          ///< floating point
  kExponential,      ///< MUFU.EX2
  kReciprocal,       ///< MUFU.RCP
  kMove,             ///< copies and selections: the value stays what it is
  kShuffle,          ///< a move between threads
  kConversion,       ///< a move into another floating-point type
  kAddress,          ///< integer arithmetic, special registers, constants for addresses and counters
  kCompare,          ///< defines predicates only
  kBarrier,          ///< BAR
  kMbarrier,         ///< SYNCS
  kCopyArrival,      ///< ARRIVES: an mbarrier that the thread's copies complete
  kCopyGroupEnd,     ///< LDGDEPBAR
  kStoreGroupEnd,    ///< UTMACMDFLUSH
  kGroupWait,        ///< DEPBAR: waits for groups of copies or stores
  kSync,             ///< every other wait, and fences
  kTensorCommit,     ///< UTCBAR: an mbarrier that the products before it complete
  kWarpgroup,        ///< WARPGROUP: order of warpgroup matrix instructions
  kBranch,           ///< BRA, JMP: to the offset that ends the operands
  kIndirectBranch,   ///< BRX, JMX
  kCall,
  kExit,         ///< EXIT, KILL
  kReturn,       ///< RET
  kRegionBegin,  ///< BSSY
  kRegionEnd,    ///< BSYNC: continues where the BSSY of its register says
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

/// An instruction's integer operation, as far as it matters for addresses and counters.
enum class IntegerOp : std::uint8_t {
  kNone,
  kCopy,         ///< copies its only source; also for floating point
  kSelect,       ///< one of two sources; also for floating point
  kMinimum,      ///< or maximum
  kAdd,          ///< sum of two or three sources
  kMultiplyAdd,  ///< a * b + c
  kShiftAdd,     ///< (a << constant) + b
  kShift,
  kLogic,    ///< combines three sources, by truth table
  kCompare,  ///< into predicates
};

/// The phase of instructions in code that names none and whose phases cannot be inferred.
enum class OpcodePhase : std::uint8_t { kBarriers, kMatrix, kReduction, kLoads, kStores, kControl, kArithmetic };

/// A row of the table.
struct Opcode {
  struct Traits {
    bool defines_nothing = false;          ///< its first operand is only read
    bool predicate_first = false;          ///< it may define a predicate and, after it, a register
    bool two_predicates = false;           ///< it may define two predicates
    bool all_predicates = false;           ///< it defines all predicates, PR
    bool wide = false;                     ///< result and sources have 64 bits, unless a modifier says 32
    int flops = 0;                         ///< per thread
    IntegerOp integer = IntegerOp::kNone;  ///< without modifiers
    std::uint16_t encoding = 0;            ///< bits 0 to 8 of its machine code; 0: no reader needs it
  };

  std::string_view base{};  ///< "HMMA"
  OpcodeClass opcode_class = OpcodeClass::kOther;
  Form form = Form::kOther;  ///< without modifiers
  OpcodePhase phase = OpcodePhase::kArithmetic;
  Traits traits{};
};

/// The rows, sorted by base.
std::span<const Opcode> OpcodeTable();

/// An opcode's row. For one that is not in the table, a row without a base: uniform work if it begins with U, a matrix
/// instruction of unknown form if it ends in MMA.
const Opcode& FindOpcode(std::string_view opcode);

/// The row whose encoding has these bits 0 to 8, one of several matrix instructions that share them; null: none.
const Opcode* FindEncoding(std::uint64_t bits);

/// Whether these are bits 0 to 8 of a matrix instruction's machine code.
bool IsMatrixEncoding(std::uint64_t bits);

/// Phases for code without line information or phase functions: matrix, exponential and reduction, loads, stores,
/// barriers, control, other arithmetic, by opcode.
PhaseMap OpcodePhases();

OpcodeClass ClassOf(std::string_view opcode);

/// Never kCompare, which follows from the operands.
Form FormOf(std::string_view opcode);

/// kNone if a modifier makes it another operation: a carry in, the upper half, a right shift.
IntegerOp IntegerOpOf(std::string_view opcode);

/// The condition of an integer comparison.
struct IntegerComparison {
  bool less = false;     ///< it holds for a < b
  bool equal = false;    ///< it holds for a == b
  bool greater = false;  ///< it holds for a > b
  bool is_unsigned = false;
};

/// Nothing if the opcode compares no integers, or continues a comparison of their lower halves.
std::optional<IntegerComparison> ReadIntegerComparison(std::string_view opcode);

/// Number of 32-bit registers that an instruction's data takes: 1 to 4, up to 128 for LDTM and STTM.
int RegistersOf(std::string_view opcode);

/// Columns of tensor memory, of 32 bits in each lane, that an LDTM or STTM accesses.
int TensorColumns(std::string_view opcode);

/// M, N and K of one matrix instruction.
struct ProductShape {
  int m = 0;
  int n = 0;
  int k = 0;
};

/// The shape of a kTensorMemory, from its opcode and the value of its instruction descriptor (PTX ISA, "Instruction
/// descriptor": N / 8 in bits 17 to 22, M / 16 in bits 24 to 28). K has 32 bytes of A. Nothing for any other value.
std::optional<ProductShape> ShapeOf(std::string_view opcode, std::uint32_t descriptor);

/// Registers that hold where a copy by TMA goes: addresses of data and mbarrier, then a coordinate for each dimension,
/// "UTMALDG.2D". The most that any has if the opcode names no dimensions.
int BulkAddressRegisters(std::string_view opcode);

/// Bytes that a thread loads or stores, 1 to 16.
int AccessBytes(std::string_view opcode);

/// Whether a modifier says that the result has 64 bits.
bool Makes64Bits(std::string_view opcode);

/// Whether sources have the width of the result.
bool HasWideSources(std::string_view opcode);

/// Registers per thread that hold its parts of A, B and C.
struct MatrixFragments {
  int a = 0;
  int b = 0;
  int c = 0;
};

/// For a kMatrix or kWarpgroupMatrix, in registers (PTX ISA, "Matrix fragments"). The accumulator of a warpgroup's 64xN
/// has N/2 registers in fp32, N/4 in fp16.
MatrixFragments FragmentsOf(std::string_view opcode);

/// FLOPs on the tensor cores per execution by a warp: 2 M N K for the shape in the opcode, half of it for sparse ones,
/// which skip every other product. A warpgroup's instruction (64xNxK) is executed by four warps, each for its 16 rows.
/// Integer and bit products count alike. 0 for other opcodes; nothing for a matrix instruction that does not state its
/// shape (Blackwell's UTC ones keep it in a descriptor).
std::optional<double> TensorFlops(std::string_view opcode);

/// Number of products added to one element: K in the shape of a matrix instruction's opcode. Nothing if it has none.
std::optional<double> TensorDepth(std::string_view opcode);

/// FLOPs per thread outside the tensor cores: FADD and FMUL 1, FFMA 2, the packed ones (fp16, fp32x2) twice that; fp64
/// alike. 0 for moves, comparisons, conversions and MUFU, and for HFMA2 and HADD2 that only load a constant or convert,
/// as their `operands` show.
double ThreadFlops(std::string_view opcode, std::string_view operands);

/// Exponentials per thread: MUFU.EX2 1, with a packed type 2; else 0.
double ThreadExponentials(std::string_view opcode);

/// Whether it is included in ncu's count of HMMA instructions.
bool IsHmma(std::string_view opcode);

/// A load marked as the last use of its register's place in local memory.
bool IsLastUse(std::string_view opcode);

/// A barrier of the block: whether warps wait at it, BAR.SYNC and BAR.RED, or only arrive, BAR.ARV.
bool WaitsAtBarrier(std::string_view opcode);
bool ArrivesAtBarrier(std::string_view opcode);

/// Asks an mbarrier whether its phase is over, SYNCS.PHASECHK.
bool AsksMbarrier(std::string_view opcode);

/// Notifies an mbarrier of a warp that has read or written; not of how many bytes a copy will bring.
bool ArrivesAtMbarrier(std::string_view opcode);

/// A copy by TMA into shared memory, which completes an mbarrier.
bool FillsSharedMemory(std::string_view opcode);

/// Orders registers before the next products of the warpgroup, WARPGROUP.ARRIVE, or waits for a group of them,
/// WARPGROUP.DEPBAR.
bool BeginsProducts(std::string_view opcode);
bool WaitsForProducts(std::string_view opcode);

/// BRA.DIV: leads to code for diverged threads, which does the same as the code after the branch.
bool BranchesWhereDiverged(std::string_view opcode);

/// BPT.TRAP: ends the kernel with an error.
bool IsTrap(std::string_view opcode);

}  // namespace fa_profile::sass
