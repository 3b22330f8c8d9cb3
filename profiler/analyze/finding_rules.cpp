#include <fmt/format.h>

#include <algorithm>

#include "fa_profile/findings.h"
#include "finding_thresholds.h"

namespace fa_profile {
namespace {

std::string Percent(double ratio) { return fmt::format("{:.0f} %", 100.0 * ratio); }

constexpr const char* kPhaseTime = "the phase's share of the kernel's time";
constexpr const char* kSampling = "PC samples and SASS counts per instruction (docs/phases.md)";

std::vector<FindingRule> Correctness() {
  return {
      {"not-correct", "The kernel's result is wrong", "it was compared with the float64 reference, and a draw failed",
       "all of it: a wrong result's speed is no result", "fa-profile verify (docs/kernels.md)",
       "make it right first: fa-profile verify --kernel ID names the shapes and the errors",
       "The output was compared, element by element, with a reference computed in float64: |error| <= 1e-3 + 1e-3 * "
       "|reference|, for several random inputs. One draw at least did not fit, or a launch failed, or outputs were "
       "never "
       "written. No speed of such a kernel is reported and nothing else is found in it: what a wrong kernel wastes is "
       "not worth knowing.\n"
       "Common causes: a missing __syncthreads() (errors change from run to run), a wrong mask at the edge of the keys "
       "(errors at some sequence lengths only), an accumulator that is not rescaled when the row's maximum grows."}};
}

std::vector<FindingRule> PhaseRules() {
  return {
      {"bottleneck-phase", "The phase that takes the most time", "always, for every kernel whose phases were measured",
       kPhaseTime, kSampling, "it depends on what the phase waits for, and is said with it",
       "Not a fault but the answer to where to look: no change to another phase can gain more than that phase's own "
       "share. "
       "The share is of the time that warps worked in the phase or waited at a barrier for it; the stall reasons after "
       "it "
       "are of the phase's own samples.\n"
       "When the shares are even, and each phase is near the peak of what it uses, there is no bottleneck left to "
       "remove: "
       "then phases can only be overlapped (warps with different roles), not made shorter."},

      {"serial-softmax", "The softmax is computed by a few threads while the others wait",
       fmt::format("phase softmax: at most {:.0f} of 32 threads per instruction and at least {} of the time",
                   kSerialThreads, Percent(kSerialTime)),
       kPhaseTime, kSampling,
       "share a row among the threads of a warp: shuffles for maximum and sum, no branch on threadIdx.x",
       "A warp executes an instruction for 32 threads in the time of one. Where `if (threadIdx.x < rows)` lets a few "
       "threads "
       "walk along whole rows, the other threads of the warp idle and the other warps of the block wait at the next "
       "barrier: the tensor cores stand still meanwhile. Threads per instruction were counted exactly in patched code "
       "(thread instructions over warp instructions of the phase); the waits at the barrier are charged to this phase, "
       "because it is what they wait for.\n"
       "Let each warp own some rows and each thread some columns of them; reduce with __shfl_xor_sync, and keep "
       "maximum and "
       "sum in registers. With mma.sync's accumulator layout a row lies in four neighbouring threads: two shuffles.\n"
       "It is no problem in a phase that takes little of the time: hence the second threshold."},

      {"serial-phase", "A phase is computed by a few threads while the others wait",
       fmt::format(
           "a phase other than softmax: at most {:.0f} of 32 threads per instruction and at least {} of the time",
           kSerialThreads, Percent(kSerialTime)),
       kPhaseTime, kSampling, "spread its loop over the threads of the warp, and its rows over the warps",
       "As serial-softmax, in another phase: a few threads work while the other threads of their warps idle and the "
       "other "
       "warps wait for them.\n"
       "A producer that issues bulk copies (TMA) from one elected thread looks alike and is right: it takes little of "
       "the "
       "time, so it does not reach the second threshold."},

      {"tensor-idle", "There are tensor instructions, and the tensor pipe is idle",
       fmt::format(
           "tensor instructions were executed, the tensor pipe is active less than {} of the time, phases without "
           "tensor instructions take at least {}, and one of them the most",
           Percent(kTensorIdle), Percent(kMostTime)),
       "the share of the longest phase, which has none", kSampling,
       "shorten the longest phase, or overlap it with the products of another tile",
       "The matrix products are on the tensor cores, and hardly matter: almost all the time goes elsewhere. Making the "
       "products faster gains nothing. Tensor pipe active is the kernel's counter; the shares are those of the "
       "phases.\n"
       "Shorten the phase that the evidence names, then let it overlap: two groups of warps that take turns (one "
       "multiplies while the other computes its softmax), or the next tile's products issued before this tile's "
       "softmax.\n"
       "For one query row (decoding) it is in the nature of the problem: there the memory's bandwidth is the limit."},

      {"bank-conflicts", "Threads of a warp hit the same bank of shared memory",
       fmt::format("a phase: at least {} of its shared-memory wavefronts beyond the ideal, and at least {} of the time",
                   Percent(kConflicts), Percent(kSmallPhase)),
       "the phase's share of the time, times the conflicting share of its wavefronts", kSampling,
       "pad the rows (+8 halves) or swizzle the columns (column ^ row), so that a warp's addresses spread over 32 "
       "banks",
       "Shared memory serves 32 banks of 4 bytes at once. When threads of a warp ask for different words of one bank, "
       "the "
       "access is repeated: each repetition is a wavefront. Wavefronts, and how many there would be without conflicts, "
       "were "
       "counted for each instruction; what is beyond the ideal is the conflicts.\n"
       "Rows of 64 or 128 halves put a column into one bank: threads that walk down a column conflict 8- to 32-fold. "
       "Padding "
       "costs memory, a XOR swizzle none. ldmatrix reads 8 rows of 16 bytes at a time: those 8 must spread.\n"
       "A few per cent come from asynchronous copies that meet loads, and are noise."},

      {"uncoalesced", "Threads of a warp use few bytes of each sector they load",
       fmt::format(
           "a phase with at least {} of the kernel's global sectors and {} of the time: ideal over real sectors at "
           "most {}; without phases: at least {:.0f} sectors per global load",
           Percent(kConflicts), Percent(kSmallPhase), Percent(kCoalescing), kSectorsPerLoad),
       "the phase's share of the time, times the useless share of its sectors; without phases the warp-cycles that "
       "wait "
       "for loads",
       kSampling, "let neighbouring threads use neighbouring addresses, 16 bytes each",
       "Global memory moves in sectors of 32 bytes. 32 threads that read 4 bytes side by side need 4 sectors, the same "
       "threads down a column 32: eight times the traffic for the same data. Sectors and ideal sectors were counted "
       "for "
       "each instruction.\n"
       "Transpose the loop so that the thread index runs along the row, or load tiles side by side into shared memory "
       "and "
       "transpose there. Caches hide it while the data fit; the traffic between L1 and L2 remains."},

      {"exp-bound", "The exponentials fill their pipe",
       fmt::format(
           "a phase with at least {} of the time: special-function operations at least {} of 16 a cycle and SM; "
           "without phases: that pipe as busy over the whole kernel",
           Percent(kSmallPhase), Percent(kExponentials)),
       kPhaseTime, "CUDA C++ Programming Guide, arithmetic instructions: 16 results a cycle and SM",
       "compute fewer: exp2 with the scale folded in, part of them as polynomials on the FMA pipe, or overlap with "
       "products",
       "An SM computes 16 special functions (MUFU: ex2, rcp, ...) a cycle, while its tensor cores do thousands of "
       "FLOPs. "
       "With head dimension 64, attention's exponentials take about as long as its products: at the pipe's limit only "
       "fewer exponentials help, or doing something else meanwhile. Threads of MUFU instructions were counted in the "
       "phase "
       "and held against 16 a cycle and SM over the phase's time, at the highest clock.\n"
       "FlashAttention-4 computes part of them with a polynomial on the FMA pipe. Packed ex2 of two halves halves the "
       "count where its precision is enough."},

      {"wait-for-copy", "A phase waits for its data",
       fmt::format("a phase with at least {} of the time: at least {} of its samples wait for loads or copies "
                   "(long_scoreboard), and the memory is not at its limit (under {})",
                   Percent(kSerialTime), Percent(kCopyWait), Percent(kBusyPipe)),
       "the phase's share of the time, times the waiting share of its samples", kSampling,
       "load earlier: into registers or, by cp.async or TMA, a second buffer, while this tile is computed",
       "The data are on their way and nobody has anything else to do. Memory answers after hundreds of cycles; that is "
       "hidden by warps that compute meanwhile, or by copies started a tile earlier. The samples say at which "
       "instructions the warps wait: at the loads' first use, or at the wait for the copies.\n"
       "When the memory itself is busy (see memory throughput), starting earlier gains nothing: then load less. For a "
       "single "
       "small tile there is nothing to overlap with."},
  };
}

std::vector<FindingRule> KernelRules() {
  return {
      {"tensor-absent", "Matrix products without tensor cores",
       fmt::format(
           "an attention kernel of {:.0e} FLOPs or more without any tensor instruction, on compute capability 7.0 "
           "or later",
           kTensorWork),
       "the phases qk and pv; without phases all of it", "instruction counters of the range profiler, or SASS counts",
       "use mma.sync, WMMA or wgmma for Q K^T and P V",
       "The tensor cores do fp16 products some 15 times faster than the FMA pipe. A kernel that does not use them "
       "leaves "
       "that on the table, whatever else it does well. Tensor instructions were counted, not looked for in the source: "
       "WMMA "
       "on an array in local memory compiles, with a warning, to nothing at all.\n"
       "It is no problem where fp32 products are what is wanted."},

      {"local-memory", "Registers spill, or arrays lie in local memory",
       fmt::format("local memory traffic of at least {} of what L1 is asked for", Percent(kLocalTraffic)),
       "local traffic's share of what L1 is asked for, times the time of the phases that have it",
       "SASS counts per instruction, or the range profiler",
       "give the kernel more registers (__launch_bounds__), a smaller tile, or indices known at compile time",
       "Local memory is a thread's own part of global memory. The compiler puts there what does not fit into registers "
       "(spills) and arrays whose index is not known at compile time (a stack frame). It is cached in L1, so a little "
       "is "
       "cheap; in a loop it competes with the data. Sectors were counted for each instruction.\n"
       "`nvcc -Xptxas -v` tells spills from stack frames. Unroll loops over register arrays completely; with "
       "__launch_bounds__(threads, blocks) a smaller second number leaves more registers to a thread."},

      {"low-occupancy", "Too few warps to hide the memory's latency",
       fmt::format(
           "achieved occupancy at most {}, at least {} of warp-cycles wait for memory (long_scoreboard, "
           "short_scoreboard), at least {} of issue slots empty, no unit at {} of its peak, and a grid that fills "
           "what the launch allows",
           Percent(kFewWarps), Percent(kLatencyStalls), Percent(kIdleIssueSlots), Percent(kBusyPipe)),
       "the warp-cycles that wait for memory", "Nsight Compute's occupancy section; CUDA C++ Best Practices Guide",
       "let more warps fit: what limits them is said; or give each warp more independent loads",
       "An SM hides the latency of memory by running other warps. Here few are resident, most of them wait for memory, "
       "and "
       "the schedulers have nothing to issue. All three must hold: low occupancy alone is no fault. A kernel with one "
       "block "
       "an SM and large tiles, as the fastest attention kernels are, hides latency with independent instructions and "
       "copies under way; this rule does not fire while a pipe is busy or issue slots are used.\n"
       "Less shared memory or fewer registers a thread let more blocks fit; so do more loads in flight per warp, "
       "without "
       "more occupancy."},

      {"small-grid", "The grid does not fill the GPU",
       fmt::format("fewer than {:.1f} waves of blocks, and no unit at {} of its peak", kSmallGrid, Percent(kBusyPipe)),
       "the SMs that get no block", "Nsight Compute's launch statistics",
       "make more blocks: smaller tiles, or split the keys among blocks and combine",
       "A wave is as many blocks as the GPU can hold at once. With fewer than half a wave many SMs are empty or hold "
       "too "
       "few warps to hide latency, and the duration is that of one block, however large the GPU. Small batches of "
       "attention "
       "are like this: batch times heads times row blocks is all there is.\n"
       "Smaller row blocks make more of them; beyond that, split the keys among blocks and combine the partial results "
       "(flash-decoding). It is no problem when other work fills the GPU at the same time."},

      {"launch-gaps", "Between the kernels of a call the GPU idles",
       fmt::format("a call of several kernels: its duration minus its parts' is at least {} of it", Percent(kGaps)),
       "those gaps", "medians of unprofiled launches", "fuse the kernels, or capture the call in a CUDA graph",
       "The call takes longer than its kernels by themselves: between two kernels the GPU drains one and starts the "
       "next. "
       "Durations are medians of unprofiled launches, of the call and of each part.\n"
       "Fusing them also saves writing and reading what lies between: for attention the whole matrix of scores. "
       "Programmatic dependent launch lets the next kernel start while the last one drains."},

      {"device-printf", "The kernel calls printf, assert or malloc",
       "a call in the recorded instructions whose target the loader fills in (constant bank 4)", "none: it ranks last",
       "the machine code as it was loaded", "leave it out of release builds (NDEBUG, #ifdef)",
       "A call into the device runtime needs a stack frame, and the compiler must keep every register that the callee "
       "may "
       "use free or saved around it: the kernel loses registers and instruction scheduling even where the call never "
       "happens. Such calls are found by their shape: an absolute call to an address that comes from constant bank 4, "
       "which the loader fills. The machine code does not tell printf from assert and malloc; `fa-profile lint` on the "
       "binary lists the symbols.\n"
       "In a kernel that is not fast for other reasons it hardly matters."},
  };
}

}  // namespace

const std::vector<FindingRule>& FindingRules() {
  static const std::vector<FindingRule> rules = [] {
    std::vector<FindingRule> all = Correctness();
    for (auto& part : {PhaseRules(), KernelRules()}) all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rules;
}

const FindingRule* FindFindingRule(std::string_view id) {
  const auto found = std::ranges::find(FindingRules(), id, &FindingRule::id);
  return found == FindingRules().end() ? nullptr : &*found;
}

}  // namespace fa_profile
