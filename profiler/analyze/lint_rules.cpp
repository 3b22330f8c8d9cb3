#include <fmt/format.h>

#include "lint_findings.h"

namespace fa_profile {
namespace {

constexpr const char* kNoWeight = "";  // lint measures no time
constexpr const char* kCode = "the instructions, as nvdisasm prints them";
constexpr const char* kHeaders = "the cubin's ELF headers";

std::vector<FindingRule> WhatTheCompilerRemoved() {
  return {
      {"code-is-a-trap", "The compiler replaced the kernel by a trap",
       "the kernel's code has a trap instruction (BPT) and no EXIT", kNoWeight, kCode,
       "read the compiler's warnings: it says what it could not do there",
       "A kernel that can only trap ends every launch with an error, and a profile of it shows an empty, very fast "
       "kernel when nobody looks at the error. The compiler does this when it can prove that all the code runs into "
       "something undefined. WMMA loads or stores on an array of the thread's own are the usual case: it warns "
       "(\"cannot perform wmma load or store on local memory\"), puts a trap there and deletes the rest.\n"
       "Build with warnings as errors (nvcc --Werror all-warnings). Let WMMA load from and store to shared or global "
       "memory.\n"
       "A kernel that is meant to run for ever has no EXIT either; one with a trap besides would be named wrongly."},

      {"wmma-without-tensor", "WMMA in the source, and no matrix instruction in the code",
       "0 matrix instructions, and a function of nvcuda::wmma in an inline stack, or wmma or mma_sync in the kernel's "
       "name",
       kNoWeight, "line information and symbol names; the opcodes of the CUDA Binary Utilities document",
       "load and store fragments from shared or global memory, and use what mma_sync returns",
       "The source was written for the tensor cores and the machine code does not use them. Either the compiler "
       "removed "
       "the products, because their operands lie in local memory (it warns) or because nothing reads their result; or "
       "the kernel was built for an architecture whose path does without.\n"
       "What tells: -lineinfo names the inlined functions of nvcuda::wmma that are left (fragments that are filled, "
       "for "
       "instance) though no HMMA, IMMA, DMMA or HGMMA is. When all of them are gone only the kernel's own name can "
       "tell.\n"
       "No problem for a kernel that only prepares data for another one that multiplies it."},
  };
}

std::vector<FindingRule> LocalMemory() {
  return {
      {"spills", "Registers are spilled to local memory", "spill stores + spill loads > 0", kNoWeight,
       "LDL and STL instructions; the counts are those of ptxas -v, for sm_75 to sm_120",
       "fewer live values (smaller tiles, shorter unrolling), or launch bounds that leave more registers",
       "The kernel needs more registers than it may have: 255, or what __launch_bounds__ or -maxrregcount leave. ptxas "
       "puts some aside on the thread's stack, in local memory, and loads them back. That goes through the L1 cache "
       "and "
       "competes with the kernel's own loads.\n"
       "Spills are told from arrays by two habits of ptxas: the last reload of a spilled register is a \"last use\" "
       "load "
       "(LDL.LU), and spill slots lie above all arrays in the stack frame. So stack accesses at a constant offset, at "
       "or "
       "above the lowest one that LDL.LU loads from, are spills. Bytes are of one thread, each instruction once.\n"
       "A few spills outside all loops cost nothing: see local-traffic-in-loop."},

      {"stack-without-spills", "Arrays lie in local memory though registers were not short",
       "stack frame > 0 bytes and no spills; not for the arguments of printf alone", kNoWeight,
       "the frame size in the cubin's headers, LDL and STL instructions",
       "index the array with constants only (unroll its loops whole), or keep it in shared memory",
       "Registers have no addresses. An array whose index is known only at run time, or whose address is given to a "
       "function that is not inlined, must lie in local memory, and every access of it goes through the L1 cache.\n"
       "Unroll the loops over it (#pragma unroll with a constant trip count), so that every index is a constant; pick "
       "by "
       "comparison when it is small; or put it into shared memory.\n"
       "The instructions at an address computed at run time are the accesses that keep the array from registers; those "
       "at constant offsets mostly fill or read it whole."},

      {"local-traffic-in-loop", "Local memory is accessed in a loop",
       "loads and stores of local memory at loop depth >= 1", kNoWeight, kCode,
       "what spills and stack-without-spills say, for the values of that loop first",
       "Local memory costs by how often it is accessed. An access outside all loops runs once; one in the loop over "
       "key "
       "blocks runs once per block, one in a loop inside it far more often. The finding names the deepest place, which "
       "is where to shorten the list of live values first.\n"
       "Loops are read from the branches of the machine code: what the compiler unrolled is none."},
  };
}

std::vector<FindingRule> TheRest() {
  return {
      {"barrier-per-row", "A barrier runs for each row, not for each tile",
       fmt::format(
           "a barrier that waits (BAR.SYNC, BAR.RED) at loop depth >= {}, or in a loop in which there is no global "
           "load or store, asynchronous copy or matrix instruction",
           kRowLoopDepth),
       kNoWeight, kCode, "give a row to one warp, so that shuffles do; one barrier per tile is enough",
       "A barrier in the loop over key blocks runs once per tile: that is what tiles are for. In a loop inside that "
       "one, "
       "or in a loop that neither brings in a tile nor multiplies one, it runs for each row or each step of a "
       "reduction, "
       "and all warps of the block wait for the slowest each time.\n"
       "Reduce within a warp by __shfl_xor_sync; combine warps once per tile through shared memory.\n"
       "Warps may have the barrier in a deep loop for a good reason, for instance a loop over tiles inside a loop over "
       "work items of a persistent kernel: then the finding is none."},

      {"calls-printf", "The kernel calls printf", "vprintf among the functions that the cubin lacks", kNoWeight,
       kHeaders, "remove it, or compile it only in debug builds (#ifndef NDEBUG)",
       "A printf that never prints costs too: its call needs a stack frame, the compiler keeps live values in fewer "
       "registers around it, and code cannot move across it. One that prints waits for a buffer that the host "
       "empties.\n"
       "The cubin lists the functions of the device runtime that a kernel calls: assert is __assertfail, malloc and "
       "free "
       "have their own names. They are all in the listing; only printf is a finding, for assert is often wanted."},

      {"no-line-information", "The code was built without line information", "the cubin has no .debug_line section",
       kNoWeight, kHeaders, "compile with nvcc -lineinfo: the machine code stays the same",
       "Without it nothing ties an instruction to the function it was inlined from, so phases are classes of opcodes "
       "and "
       "no place in the source can be named. -lineinfo costs nothing at run time: the instructions, and so the code "
       "hash, "
       "are the same with and without."},

      {"no-block-fits", "A launch would fail: no block fits on an SM",
       "shared memory of a block > what the architecture lets one have, or threads x registers > 65536", kNoWeight,
       "CUDA C++ Programming Guide, technical specifications per compute capability",
       "fewer threads or less shared memory, or __launch_bounds__ with the threads you launch",
       "The launch fails with \"invalid argument\" or \"too many resources requested for launch\". Threads are those "
       "that --threads gives, or the most that the kernel was compiled for; shared memory is the kernel's own and what "
       "--smem gives. Registers are handed out for whole warps, in units of 256."},

      {"low-theoretical-occupancy", "Few warps fit on an SM",
       fmt::format("theoretical occupancy < {:.0f} %, limited by registers or shared memory",
                   100.0 * kLowTheoreticalOccupancy),
       kNoWeight, "the occupancy calculator's rules (docs/metrics.md)",
       "none, unless a measurement shows stalls that more warps would hide",
       "Informative. The kernel's registers or shared memory let few of its warps be on an SM at once. Kernels that "
       "keep "
       "large tiles in registers choose that on purpose, and the fastest kernels of the ladder are among them: a "
       "few warps with much independent work each hide latency as well as many with little.\n"
       "A profile tells which it is: `fa-profile -- PROGRAM` has stall reasons and how often the scheduler had nothing "
       "to "
       "issue. Threads per block are --threads, or the launch bounds, and dynamic shared memory is what --smem says: "
       "give both as the kernel is launched."},
  };
}

}  // namespace

const std::vector<FindingRule>& LintRules() {
  static const std::vector<FindingRule> rules = [] {
    std::vector<FindingRule> all = WhatTheCompilerRemoved();
    for (const auto& part : {LocalMemory(), TheRest()}) all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rules;
}

}  // namespace fa_profile
