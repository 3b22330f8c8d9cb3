#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/opcodes.h"

namespace fa_profile::sass {
namespace {

using C = OpcodeClass;
using F = Form;
using I = IntegerOp;
using P = OpcodePhase;

// The opcodes of the instruction set tables in the CUDA Binary Utilities document, Ampere to Blackwell. To add one, see
// "an opcode" in CONTRIBUTING.md.
// clang-format off: a row each
constexpr Opcode kOpcodes[] = {
    // base, class, form, phase, traits
    {"ACQBULK", C::kAsyncWait, F::kSync, P::kControl, {.defines_nothing = true}},
    {"ARRIVES", C::kAsyncWait, F::kCopyArrival, P::kBarriers, {.defines_nothing = true}},
    {"ATOM", C::kAtomic, F::kOther, P::kStores, {.predicate_first = true}},
    {"ATOMG", C::kAtomic, F::kOther, P::kStores, {.predicate_first = true}},
    {"ATOMS", C::kAtomic, F::kSharedAtomic, P::kStores, {.predicate_first = true}},
    {"B2R", C::kBarrier, F::kOther, P::kArithmetic},
    {"BAR", C::kBarrier, F::kBarrier, P::kBarriers, {.defines_nothing = true}},
    {"BGMMA", C::kTensor, F::kWarpgroupMatrix, P::kMatrix, {.encoding = 0x1f2}},
    {"BMMA", C::kTensor, F::kMatrix, P::kMatrix, {.encoding = 0x03d}},
    {"BMOV", C::kControl, F::kOther, P::kControl},
    {"BMSK", C::kInteger, F::kOther, P::kArithmetic},
    {"BPT", C::kControl, F::kTrap, P::kControl, {.defines_nothing = true}},
    {"BRA", C::kControl, F::kBranch, P::kControl, {.defines_nothing = true, .encoding = 0x147}},
    {"BREAK", C::kControl, F::kConvergence, P::kControl, {.defines_nothing = true}},
    {"BREV", C::kInteger, F::kOther, P::kArithmetic},
    {"BRX", C::kControl, F::kIndirectBranch, P::kControl, {.defines_nothing = true, .encoding = 0x149}},
    {"BRXU", C::kControl, F::kIndirectBranch, P::kControl, {.defines_nothing = true, .encoding = 0x158}},
    {"BSSY", C::kControl, F::kRegionBegin, P::kControl, {.defines_nothing = true, .encoding = 0x145}},
    {"BSYNC", C::kControl, F::kRegionEnd, P::kControl, {.defines_nothing = true, .encoding = 0x141}},
    {"CALL", C::kControl, F::kCall, P::kControl, {.defines_nothing = true, .encoding = 0x144}},
    {"CCTL", C::kFence, F::kSync, P::kArithmetic, {.defines_nothing = true}},
    {"CCTLL", C::kFence, F::kSync, P::kArithmetic, {.defines_nothing = true}},
    {"CCTLT", C::kFence, F::kSync, P::kArithmetic, {.defines_nothing = true}},
    {"CGABAR_ARV", C::kAsyncWait, F::kSync, P::kBarriers, {.defines_nothing = true}},
    {"CGABAR_GET", C::kAsyncWait, F::kSync, P::kBarriers},
    {"CGABAR_SET", C::kAsyncWait, F::kSync, P::kBarriers},
    {"CGABAR_WAIT", C::kAsyncWait, F::kSync, P::kBarriers, {.defines_nothing = true}},
    {"CGAERRBAR", C::kFence, F::kSync, P::kBarriers, {.defines_nothing = true}},
    {"CREDUX", C::kReduction, F::kOther, P::kReduction},
    {"CS2R", C::kInteger, F::kAddress, P::kArithmetic, {.wide = true, .integer = I::kCopy}},
    {"CSMTEST", C::kInteger, F::kOther, P::kArithmetic},
    {"DADD", C::kFp64, F::kAdd, P::kArithmetic, {.wide = true, .flops = 1}},
    {"DEPBAR", C::kAsyncWait, F::kGroupWait, P::kBarriers, {.defines_nothing = true}},
    {"DFMA", C::kFp64, F::kMultiply, P::kArithmetic, {.wide = true, .flops = 2}},
    {"DMMA", C::kTensor, F::kMatrix, P::kMatrix, {.encoding = 0x03f}},
    {"DMNMX", C::kFp64, F::kMaximum, P::kArithmetic, {.wide = true}},
    {"DMUL", C::kFp64, F::kMultiply, P::kArithmetic, {.wide = true, .flops = 1}},
    {"DSET", C::kFp64, F::kOther, P::kArithmetic},
    {"DSETP", C::kFp64, F::kOther, P::kArithmetic, {.two_predicates = true, .wide = true}},
    {"ELECT", C::kControl, F::kOther, P::kControl, {.predicate_first = true}},
    {"ENDCOLLECTIVE", C::kControl, F::kOther, P::kArithmetic},
    {"ERRBAR", C::kFence, F::kSync, P::kBarriers, {.defines_nothing = true}},
    {"EXIT", C::kControl, F::kExit, P::kControl, {.defines_nothing = true, .encoding = 0x14d}},
    {"F2F", C::kInteger, F::kConversion, P::kArithmetic},
    {"F2FP", C::kInteger, F::kConversion, P::kArithmetic},
    {"F2I", C::kInteger, F::kOther, P::kArithmetic},
    {"F2IP", C::kInteger, F::kOther, P::kArithmetic},
    {"FADD", C::kFp32, F::kAdd, P::kArithmetic, {.flops = 1}},
    {"FADD2", C::kFp32, F::kAdd, P::kArithmetic, {.wide = true, .flops = 2}},
    {"FADD32I", C::kFp32, F::kAdd, P::kArithmetic, {.flops = 1}},
    {"FCHK", C::kFp32, F::kOther, P::kReduction},
    {"FENCE", C::kFence, F::kSync, P::kBarriers, {.defines_nothing = true}},
    {"FFMA", C::kFp32, F::kMultiply, P::kArithmetic, {.flops = 2}},
    {"FFMA2", C::kFp32, F::kMultiply, P::kArithmetic, {.wide = true, .flops = 4}},
    {"FFMA32I", C::kFp32, F::kMultiply, P::kArithmetic, {.flops = 2}},
    {"FHADD", C::kFp32, F::kOther, P::kArithmetic, {.flops = 1}},
    {"FHFMA", C::kFp32, F::kOther, P::kArithmetic, {.flops = 2}},
    {"FLO", C::kInteger, F::kOther, P::kArithmetic},
    {"FMNMX", C::kFp32, F::kMaximum, P::kReduction},
    {"FMNMX3", C::kFp32, F::kMaximum, P::kReduction},
    {"FMUL", C::kFp32, F::kMultiply, P::kArithmetic, {.flops = 1}},
    {"FMUL2", C::kFp32, F::kMultiply, P::kArithmetic, {.wide = true, .flops = 2}},
    {"FMUL32I", C::kFp32, F::kMultiply, P::kArithmetic, {.flops = 1}},
    {"FRND", C::kInteger, F::kOther, P::kArithmetic},
    {"FSEL", C::kFp32, F::kMove, P::kArithmetic, {.integer = I::kSelect}},
    {"FSET", C::kFp32, F::kOther, P::kArithmetic},
    {"FSETP", C::kFp32, F::kOther, P::kArithmetic, {.two_predicates = true}},
    {"FSWZADD", C::kFp32, F::kOther, P::kArithmetic, {.flops = 1}},
    {"GETLMEMBASE", C::kInteger, F::kOther, P::kArithmetic},
    {"HADD2", C::kFp16, F::kAdd, P::kArithmetic, {.flops = 2}},
    {"HADD2_32I", C::kFp16, F::kAdd, P::kArithmetic, {.flops = 2}},
    {"HADD2_BF16_V2", C::kFp16, F::kAdd, P::kArithmetic, {.flops = 2}},
    {"HFMA2", C::kFp16, F::kMultiply, P::kArithmetic, {.flops = 4}},
    {"HFMA2_32I", C::kFp16, F::kMultiply, P::kArithmetic, {.flops = 4}},
    {"HFMA2_BF16_V2", C::kFp16, F::kMultiply, P::kArithmetic, {.flops = 4}},
    {"HGMMA", C::kTensor, F::kWarpgroupMatrix, P::kMatrix, {.encoding = 0x1f0}},
    {"HMMA", C::kTensor, F::kMatrix, P::kMatrix, {.encoding = 0x03c}},
    {"HMNMX2", C::kFp16, F::kMaximum, P::kReduction},
    {"HMUL2", C::kFp16, F::kMultiply, P::kArithmetic, {.flops = 2}},
    {"HMUL2_32I", C::kFp16, F::kMultiply, P::kArithmetic, {.flops = 2}},
    {"HSET2", C::kFp16, F::kOther, P::kArithmetic},
    {"HSETP2", C::kFp16, F::kOther, P::kArithmetic, {.two_predicates = true}},
    {"I2F", C::kInteger, F::kAddress, P::kArithmetic},
    {"I2FP", C::kInteger, F::kAddress, P::kArithmetic},
    {"I2I", C::kInteger, F::kAddress, P::kArithmetic},
    {"I2IP", C::kInteger, F::kOther, P::kArithmetic},
    {"IABS", C::kInteger, F::kAddress, P::kArithmetic},
    {"IADD", C::kInteger, F::kAddress, P::kArithmetic, {.integer = I::kAdd}},
    {"IADD3", C::kInteger, F::kAddress, P::kArithmetic, {.predicate_first = true, .integer = I::kAdd}},
    {"IADD32I", C::kInteger, F::kAddress, P::kArithmetic},
    {"IADD64", C::kInteger, F::kAddress, P::kArithmetic, {.wide = true}},
    {"IDP", C::kInteger, F::kOther, P::kArithmetic},
    {"IDP4A", C::kInteger, F::kOther, P::kArithmetic},
    {"IGMMA", C::kTensor, F::kWarpgroupMatrix, P::kMatrix, {.encoding = 0x1f1}},
    {"IMAD", C::kInteger, F::kOther, P::kArithmetic, {.integer = I::kMultiplyAdd}},
    {"IMMA", C::kTensor, F::kMatrix, P::kMatrix, {.encoding = 0x037}},
    {"IMNMX", C::kInteger, F::kAddress, P::kArithmetic, {.integer = I::kMinimum}},
    {"IMUL", C::kInteger, F::kOther, P::kArithmetic},
    {"IMUL32I", C::kInteger, F::kOther, P::kArithmetic},
    {"ISCADD", C::kInteger, F::kAddress, P::kArithmetic},
    {"ISCADD32I", C::kInteger, F::kOther, P::kArithmetic},
    {"ISETP", C::kInteger, F::kOther, P::kArithmetic, {.two_predicates = true, .integer = I::kCompare}},
    {"JMP", C::kControl, F::kBranch, P::kControl, {.defines_nothing = true}},
    {"JMX", C::kControl, F::kIndirectBranch, P::kControl, {.defines_nothing = true}},
    {"JMXU", C::kControl, F::kIndirectBranch, P::kControl, {.defines_nothing = true}},
    {"KILL", C::kControl, F::kExit, P::kControl, {.defines_nothing = true}},
    {"LD", C::kGlobalLoad, F::kGlobalLoad, P::kLoads},
    {"LDC", C::kConstantLoad, F::kAddress, P::kLoads},
    {"LDCU", C::kConstantLoad, F::kAddress, P::kLoads},
    {"LDG", C::kGlobalLoad, F::kGlobalLoad, P::kLoads},
    {"LDGDEPBAR", C::kAsyncWait, F::kCopyGroupEnd, P::kBarriers, {.defines_nothing = true}},
    {"LDGSTS", C::kAsyncCopy, F::kAsyncCopy, P::kLoads, {.defines_nothing = true}},
    {"LDL", C::kLocalLoad, F::kLocalLoad, P::kLoads, {.encoding = 0x183}},
    {"LDS", C::kSharedLoad, F::kSharedLoad, P::kLoads},
    {"LDSM", C::kMatrixLoad, F::kSharedLoad, P::kLoads},
    {"LDTDEPBAR", C::kAsyncWait, F::kSync, P::kLoads, {.defines_nothing = true}},
    {"LDTM", C::kMatrixLoad, F::kTensorLoad, P::kLoads},
    {"LEA", C::kInteger, F::kAddress, P::kArithmetic, {.predicate_first = true, .integer = I::kShiftAdd}},
    {"LEPC", C::kInteger, F::kOther, P::kControl},
    {"LOP", C::kInteger, F::kOther, P::kArithmetic},
    {"LOP3", C::kInteger, F::kOther, P::kArithmetic, {.predicate_first = true, .integer = I::kLogic}},
    {"LOP32I", C::kInteger, F::kOther, P::kArithmetic},
    {"MATCH", C::kReduction, F::kOther, P::kReduction, {.predicate_first = true}},
    {"MEMBAR", C::kFence, F::kSync, P::kBarriers, {.defines_nothing = true}},
    {"MOV", C::kInteger, F::kMove, P::kArithmetic, {.integer = I::kCopy}},
    {"MOV32I", C::kInteger, F::kMove, P::kArithmetic, {.integer = I::kCopy}},
    {"MOVM", C::kInteger, F::kMove, P::kArithmetic, {.integer = I::kCopy}},
    {"MUFU", C::kSpecial, F::kOther, P::kReduction},
    {"NANOSLEEP", C::kControl, F::kSync, P::kBarriers, {.defines_nothing = true}},
    {"NOP", C::kControl, F::kNop, P::kControl, {.defines_nothing = true, .encoding = 0x118}},
    {"OMMA", C::kTensor, F::kMatrix, P::kMatrix, {.encoding = 0x07f}},
    {"P2R", C::kInteger, F::kOther, P::kArithmetic},
    {"PLOP3", C::kInteger, F::kOther, P::kArithmetic, {.two_predicates = true}},
    {"PMTRIG", C::kControl, F::kConvergence, P::kControl, {.defines_nothing = true}},
    {"POPC", C::kInteger, F::kOther, P::kArithmetic},
    {"PREEXIT", C::kControl, F::kConvergence, P::kControl, {.defines_nothing = true}},
    {"PRMT", C::kInteger, F::kMove, P::kArithmetic},
    {"PSETP", C::kInteger, F::kOther, P::kArithmetic, {.two_predicates = true}},
    {"QGMMA", C::kTensor, F::kWarpgroupMatrix, P::kMatrix, {.encoding = 0x1f3}},
    {"QMMA", C::kTensor, F::kMatrix, P::kMatrix, {.encoding = 0x07a}},
    {"R2P", C::kInteger, F::kOther, P::kArithmetic, {.all_predicates = true}},
    {"R2UR", C::kInteger, F::kMove, P::kArithmetic, {.predicate_first = true, .integer = I::kCopy}},
    {"RED", C::kAtomic, F::kGlobalStore, P::kStores, {.defines_nothing = true}},
    {"REDAS", C::kAsyncCopy, F::kRemoteStore, P::kStores, {.defines_nothing = true}},
    {"REDG", C::kAtomic, F::kGlobalStore, P::kStores, {.defines_nothing = true}},
    {"REDUX", C::kReduction, F::kOther, P::kReduction},
    {"RET", C::kControl, F::kReturn, P::kControl, {.defines_nothing = true, .encoding = 0x150}},
    {"RPCMOV", C::kControl, F::kOther, P::kArithmetic},
    {"RTT", C::kControl, F::kOther, P::kArithmetic},
    {"S2R", C::kInteger, F::kAddress, P::kArithmetic},
    {"S2UR", C::kInteger, F::kAddress, P::kArithmetic},
    {"SEL", C::kInteger, F::kMove, P::kArithmetic, {.integer = I::kSelect}},
    {"SETLMEMBASE", C::kInteger, F::kOther, P::kArithmetic},
    {"SGXT", C::kInteger, F::kOther, P::kArithmetic},
    {"SHF", C::kInteger, F::kOther, P::kArithmetic, {.integer = I::kShift}},
    {"SHFL", C::kReduction, F::kShuffle, P::kReduction, {.predicate_first = true}},
    {"SHL", C::kInteger, F::kOther, P::kArithmetic},
    {"SHR", C::kInteger, F::kOther, P::kArithmetic},
    {"ST", C::kGlobalStore, F::kGlobalStore, P::kStores, {.defines_nothing = true}},
    {"STAS", C::kAsyncCopy, F::kRemoteStore, P::kStores, {.defines_nothing = true}},
    {"STG", C::kGlobalStore, F::kGlobalStore, P::kStores, {.defines_nothing = true}},
    {"STL", C::kLocalStore, F::kLocalStore, P::kStores, {.defines_nothing = true, .encoding = 0x187}},
    {"STS", C::kSharedStore, F::kSharedStore, P::kStores, {.defines_nothing = true}},
    {"STSM", C::kMatrixStore, F::kSharedStore, P::kStores, {.defines_nothing = true}},
    {"STTM", C::kMatrixStore, F::kTensorStore, P::kStores, {.defines_nothing = true}},
    {"SUATOM", C::kTexture, F::kOther, P::kStores},
    {"SULD", C::kTexture, F::kOther, P::kLoads},
    {"SUQUERY", C::kTexture, F::kOther, P::kArithmetic},
    {"SURED", C::kTexture, F::kOther, P::kStores, {.defines_nothing = true}},
    {"SUST", C::kTexture, F::kOther, P::kStores, {.defines_nothing = true}},
    {"SYNCS", C::kAsyncWait, F::kMbarrier, P::kBarriers},
    {"TEX", C::kTexture, F::kOther, P::kLoads},
    {"TLD", C::kTexture, F::kOther, P::kLoads},
    {"TLD4", C::kTexture, F::kOther, P::kLoads},
    {"TMML", C::kTexture, F::kOther, P::kArithmetic},
    {"TXD", C::kTexture, F::kOther, P::kArithmetic},
    {"TXQ", C::kTexture, F::kOther, P::kArithmetic},
    {"UBLKCP", C::kAsyncCopy, F::kBulkLoad, P::kLoads, {.defines_nothing = true}},
    {"UBLKPF", C::kAsyncCopy, F::kOther, P::kLoads, {.defines_nothing = true}},
    {"UBLKRED", C::kAsyncCopy, F::kBulkStore, P::kStores, {.defines_nothing = true}},
    {"UBMSK", C::kUniform, F::kOther, P::kArithmetic},
    {"UBREV", C::kUniform, F::kOther, P::kArithmetic},
    {"UCGABAR_ARV", C::kAsyncWait, F::kSync, P::kBarriers, {.defines_nothing = true}},
    {"UCGABAR_WAIT", C::kAsyncWait, F::kSync, P::kBarriers, {.defines_nothing = true}},
    {"UF2F", C::kUniform, F::kOther, P::kArithmetic},
    {"UF2FP", C::kUniform, F::kOther, P::kArithmetic},
    {"UF2I", C::kUniform, F::kOther, P::kArithmetic},
    {"UF2IP", C::kUniform, F::kOther, P::kArithmetic},
    {"UFADD", C::kUniform, F::kOther, P::kArithmetic},
    {"UFFMA", C::kUniform, F::kOther, P::kArithmetic},
    {"UFLO", C::kUniform, F::kOther, P::kArithmetic},
    {"UFMNMX", C::kUniform, F::kOther, P::kArithmetic},
    {"UFMUL", C::kUniform, F::kOther, P::kArithmetic},
    {"UFRND", C::kUniform, F::kOther, P::kArithmetic},
    {"UFSEL", C::kUniform, F::kOther, P::kArithmetic},
    {"UFSET", C::kUniform, F::kOther, P::kArithmetic},
    {"UFSETP", C::kUniform, F::kOther, P::kArithmetic, {.two_predicates = true}},
    {"UGETNEXTWORKID", C::kUniform, F::kOther, P::kArithmetic},
    {"UI2F", C::kUniform, F::kOther, P::kArithmetic},
    {"UI2FP", C::kUniform, F::kOther, P::kArithmetic},
    {"UI2I", C::kUniform, F::kOther, P::kArithmetic},
    {"UIABS", C::kUniform, F::kOther, P::kArithmetic},
    {"UIADD", C::kUniform, F::kAddress, P::kArithmetic, {.integer = I::kAdd}},
    {"UIADD3", C::kUniform, F::kAddress, P::kArithmetic, {.predicate_first = true, .integer = I::kAdd}},
    {"UIMAD", C::kUniform, F::kAddress, P::kArithmetic, {.integer = I::kMultiplyAdd}},
    {"UIMNMX", C::kUniform, F::kOther, P::kArithmetic, {.integer = I::kMinimum}},
    {"UISETP", C::kUniform, F::kOther, P::kArithmetic, {.two_predicates = true, .integer = I::kCompare}},
    {"ULDC", C::kConstantLoad, F::kAddress, P::kLoads},
    {"ULEA", C::kUniform, F::kAddress, P::kArithmetic, {.predicate_first = true, .integer = I::kShiftAdd}},
    {"ULOP", C::kUniform, F::kOther, P::kArithmetic},
    {"ULOP3", C::kUniform, F::kOther, P::kArithmetic, {.predicate_first = true, .integer = I::kLogic}},
    {"ULOP32I", C::kUniform, F::kOther, P::kArithmetic},
    {"UMOV", C::kUniform, F::kMove, P::kArithmetic, {.integer = I::kCopy}},
    {"UP2UR", C::kUniform, F::kOther, P::kArithmetic},
    {"UPLOP3", C::kUniform, F::kOther, P::kArithmetic, {.two_predicates = true}},
    {"UPOPC", C::kUniform, F::kOther, P::kArithmetic},
    {"UPRMT", C::kUniform, F::kMove, P::kArithmetic},
    {"UPSETP", C::kUniform, F::kOther, P::kArithmetic, {.two_predicates = true}},
    {"UR2UP", C::kInteger, F::kOther, P::kArithmetic},
    {"USEL", C::kUniform, F::kMove, P::kArithmetic, {.integer = I::kSelect}},
    {"USETMAXREG", C::kControl, F::kConvergence, P::kControl, {.defines_nothing = true}},
    {"USGXT", C::kUniform, F::kOther, P::kArithmetic},
    {"USHF", C::kUniform, F::kAddress, P::kArithmetic, {.integer = I::kShift}},
    {"USHL", C::kUniform, F::kOther, P::kArithmetic},
    {"USHR", C::kUniform, F::kOther, P::kArithmetic},
    {"UTCATOMSWS", C::kUniform, F::kOther, P::kArithmetic, {.predicate_first = true}},
    {"UTCBAR", C::kAsyncWait, F::kTensorCommit, P::kBarriers, {.defines_nothing = true}},
    {"UTCCP", C::kAsyncCopy, F::kTensorCopy, P::kLoads, {.defines_nothing = true}},
    {"UTCHMMA", C::kTensor, F::kTensorMemory, P::kMatrix, {.defines_nothing = true, .encoding = 0x1ea}},
    {"UTCIMMA", C::kTensor, F::kTensorMemory, P::kMatrix, {.defines_nothing = true, .encoding = 0x1ea}},
    {"UTCOMMA", C::kTensor, F::kTensorMemory, P::kMatrix, {.defines_nothing = true, .encoding = 0x1ea}},
    {"UTCQMMA", C::kTensor, F::kTensorMemory, P::kMatrix, {.defines_nothing = true, .encoding = 0x1ea}},
    {"UTCSHIFT", C::kAsyncCopy, F::kTensorCopy, P::kArithmetic, {.defines_nothing = true}},
    {"UTMACCTL", C::kUniform, F::kOther, P::kArithmetic, {.defines_nothing = true}},
    {"UTMACMDFLUSH", C::kAsyncWait, F::kStoreGroupEnd, P::kBarriers, {.defines_nothing = true}},
    {"UTMALDG", C::kAsyncCopy, F::kBulkLoad, P::kLoads, {.defines_nothing = true}},
    {"UTMAPF", C::kAsyncCopy, F::kOther, P::kLoads, {.defines_nothing = true}},
    {"UTMAREDG", C::kAsyncCopy, F::kBulkStore, P::kStores, {.defines_nothing = true}},
    {"UTMASTG", C::kAsyncCopy, F::kBulkStore, P::kStores, {.defines_nothing = true}},
    {"UVIADD", C::kUniform, F::kOther, P::kArithmetic, {.integer = I::kAdd}},
    {"UVIMNMX", C::kUniform, F::kAddress, P::kArithmetic, {.integer = I::kMinimum}},
    {"UVIRTCOUNT", C::kUniform, F::kOther, P::kArithmetic},
    {"VABSDIFF", C::kInteger, F::kOther, P::kArithmetic},
    {"VABSDIFF4", C::kInteger, F::kOther, P::kArithmetic},
    {"VHMNMX", C::kFp16, F::kMaximum, P::kReduction},
    {"VIADD", C::kInteger, F::kAddress, P::kArithmetic, {.integer = I::kAdd}},
    {"VIADDMNMX", C::kInteger, F::kOther, P::kArithmetic},
    {"VIMNMX", C::kInteger, F::kAddress, P::kReduction, {.integer = I::kMinimum}},
    {"VIMNMX3", C::kInteger, F::kOther, P::kReduction},
    {"VOTE", C::kReduction, F::kOther, P::kReduction, {.predicate_first = true}},
    {"VOTEU", C::kReduction, F::kOther, P::kReduction, {.predicate_first = true}},
    {"WARPGROUP", C::kAsyncWait, F::kWarpgroup, P::kMatrix, {.defines_nothing = true}},
    {"WARPGROUPSET", C::kAsyncWait, F::kWarpgroup, P::kMatrix, {.defines_nothing = true}},
    {"WARPSYNC", C::kControl, F::kConvergence, P::kControl, {.defines_nothing = true}},
    {"YIELD", C::kControl, F::kConvergence, P::kControl, {.defines_nothing = true}},
};
// clang-format on
static_assert(std::ranges::adjacent_find(kOpcodes, std::ranges::greater_equal(), &Opcode::base) == std::end(kOpcodes));

/// A base and its hash.
struct HashedBase {
  std::string_view base;
  std::uint32_t hash = 0;
};

constexpr HashedBase BaseOf(std::string_view opcode) {
  std::uint32_t hash = 0;
  std::size_t length = 0;
  for (; length < opcode.size() && opcode[length] != '.'; ++length) {
    hash = hash * 31 + static_cast<unsigned char>(opcode[length]);
  }
  return {opcode.substr(0, length), hash};
}

/// Code has millions of instructions to look up. Places of rows by hash, or the next free ones; 0: none, else the row's
/// index plus one.
constexpr std::size_t kPlaces = 1024;
constexpr auto kRowAt = [] {
  static_assert(2 * std::size(kOpcodes) < kPlaces, "too full to be fast");
  std::array<std::uint16_t, kPlaces> row_at{};
  for (std::size_t row = 0; row < std::size(kOpcodes); ++row) {
    std::size_t place = BaseOf(kOpcodes[row].base).hash % kPlaces;
    while (row_at[place] != 0) place = (place + 1) % kPlaces;
    row_at[place] = static_cast<std::uint16_t>(row + 1);
  }
  return row_at;
}();

/// Rows by encoding: a row's index plus one, or 0.
constexpr auto kRowOfEncoding = [] {
  std::array<std::uint16_t, 512> row_of{};
  for (std::size_t row = 0; row < std::size(kOpcodes); ++row) {
    if (const std::uint16_t bits = kOpcodes[row].traits.encoding; bits != 0) {
      row_of[bits] = static_cast<std::uint16_t>(row + 1);
    }
  }
  return row_of;
}();
static_assert(std::ranges::none_of(kOpcodes, [](const Opcode& row) {
  return row.opcode_class == C::kTensor && row.traits.encoding == 0;
}));

// In the order of the enumeration.
constexpr std::array<std::string_view, kOpcodeClasses> kClassNames = {
    "tensor",      "exponential",  "special",       "fp32",         "fp16",       "fp64",        "integer",
    "shared_load", "shared_store", "matrix_load",   "matrix_store", "async_copy", "global_load", "global_store",
    "local_load",  "local_store",  "constant_load", "texture",      "barrier",    "async_wait",  "fence",
    "reduction",   "atomic",       "control",       "uniform",      "other"};

/// Bases of the phase's rows, without those that begin with another of them.
std::vector<std::string> PrefixesOf(OpcodePhase phase) {
  std::vector<std::string> prefixes;
  for (const Opcode& row : kOpcodes) {
    if (row.phase != phase || (!prefixes.empty() && row.base.starts_with(prefixes.back()))) continue;
    prefixes.emplace_back(row.base);
  }
  return prefixes;
}

}  // namespace

std::string_view ClassName(OpcodeClass opcode_class) { return kClassNames[static_cast<std::size_t>(opcode_class)]; }

std::span<const Opcode> OpcodeTable() { return kOpcodes; }

const Opcode& FindOpcode(std::string_view opcode) {
  static constexpr Opcode kUnknown;
  static constexpr Opcode kUniform{.opcode_class = C::kUniform};
  static constexpr Opcode kMatrix{.form = F::kUnknownMatrix};
  static constexpr Opcode kUniformMatrix{.opcode_class = C::kUniform, .form = F::kUnknownMatrix};
  const auto [base, hash] = BaseOf(opcode);
  for (std::size_t place = hash % kPlaces; kRowAt[place] != 0; place = (place + 1) % kPlaces) {
    const Opcode& row = kOpcodes[kRowAt[place] - 1];
    if (row.base == base) return row;
  }
  const bool is_matrix = base.ends_with("MMA");
  if (base.starts_with('U')) return is_matrix ? kUniformMatrix : kUniform;
  return is_matrix ? kMatrix : kUnknown;
}

const Opcode* FindEncoding(std::uint64_t bits) {
  if (bits >= kRowOfEncoding.size() || kRowOfEncoding[bits] == 0) return nullptr;
  return &kOpcodes[kRowOfEncoding[bits] - 1];
}

bool IsMatrixEncoding(std::uint64_t bits) {
  const Opcode* const row = FindEncoding(bits);
  return row != nullptr && row->opcode_class == C::kTensor;
}

// The first matching rule is used, so special cases come before the short prefixes that would swallow them. Maxima,
// shuffles and votes are how attention reduces a row, so they go with the exponentials. WARPGROUP waits for matrix
// instructions.
PhaseMap OpcodePhases() {
  constexpr std::pair<P, const char*> kPhases[] = {
      {P::kBarriers, "barriers"}, {P::kMatrix, "matrix"}, {P::kReduction, "exponential and reduction"},
      {P::kLoads, "loads"},       {P::kStores, "stores"}, {P::kControl, "control"}};
  PhaseMap map{kOpcodePhasesName, {}};
  for (const auto& [phase, name] : kPhases) map.rules.push_back({name, {}, {}, PrefixesOf(phase)});
  map.rules.push_back({"other arithmetic", {}, {}, {""}});
  return map;
}

}  // namespace fa_profile::sass
