#include "fa_profile/metric_catalogue.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "catalogue_words.h"
#include "stall_table.h"

namespace fa_profile {
namespace {

constexpr std::string_view kNcuGuide = "Nsight Compute Profiling Guide, metrics reference";
constexpr std::string_view kNcuSol = "Nsight Compute section SpeedOfLight";
constexpr std::string_view kNcuRoofline = "Nsight Compute section SpeedOfLight_RooflineChart";
constexpr std::string_view kNcuMemory = "Nsight Compute section MemoryWorkloadAnalysis_Tables";
constexpr std::string_view kNcuCompute = "Nsight Compute section ComputeWorkloadAnalysis";
constexpr std::string_view kNcuStates = "Nsight Compute section WarpStateStats";
constexpr std::string_view kLaunchRecord = "CUPTI activity API, kernel record";
constexpr std::string_view kPaper = "FlashAttention papers: 4 B H D FLOPs per score, over measured time";
constexpr std::string_view kOurs = "fa-profile, docs/metrics.md";

/// Text from which formulas are put together at compile time.
template <std::size_t kSize>
struct Piece {
  constexpr Piece() = default;
  constexpr Piece(const char (&text)[kSize]) { std::copy_n(text, kSize, chars); }
  constexpr explicit Piece(std::string_view text) { std::copy_n(text.data(), kSize - 1, chars); }
  constexpr operator std::string_view() const { return {chars, kSize - 1}; }
  char chars[kSize]{};
};

template <std::size_t kA, std::size_t kB>
constexpr Piece<kA + kB - 1> operator+(const Piece<kA>& a, const Piece<kB>& b) {
  Piece<kA + kB - 1> both;
  std::copy_n(b.chars, kB, std::copy_n(a.chars, kA - 1, both.chars));
  return both;
}
template <std::size_t kA, std::size_t kB>
constexpr auto operator+(const Piece<kA>& a, const char (&b)[kB]) {
  return a + Piece(b);
}
template <std::size_t kA, std::size_t kB>
constexpr auto operator+(const char (&a)[kA], const Piece<kB>& b) {
  return Piece(a) + b;
}

// The basis of the rooflines. GH100 counts tensor work by the type of the operands. Other chips count it by the types
// of operands and result.
constexpr Piece kTensorWork =
    "sm__ops_path_tensor_src_fp16.sum + sm__ops_path_tensor_src_bf16_dst_fp32.sum + "
    "sm__ops_path_tensor_src_tf32_dst_fp32.sum";
constexpr Piece kTensorWorkByResult =
    "sm__ops_path_tensor_src_fp16_dst_fp16.sum + sm__ops_path_tensor_src_fp16_dst_fp32.sum + "
    "sm__ops_path_tensor_src_bf16_dst_fp32.sum + sm__ops_path_tensor_src_tf32_dst_fp32.sum";
constexpr Piece kFp32Work =
    "2 * smsp__sass_thread_inst_executed_op_ffma_pred_on.sum + smsp__sass_thread_inst_executed_op_fadd_pred_on.sum + "
    "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum";
constexpr Piece kTensorPeak =
    "sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off.sum.peak_sustained * sm__cycles_elapsed.avg.per_second";
constexpr Piece kTensorPeakByResult =
    "sm__ops_path_tensor_src_fp16_dst_fp32_sparsity_off.sum.peak_sustained * sm__cycles_elapsed.avg.per_second";
constexpr Piece kDramPeak = "dram__bytes.sum.peak_sustained * dram__cycles_elapsed.avg.per_second";
constexpr Piece kFp32Peak =
    "2 * sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained * sm__cycles_elapsed.avg.per_second";
// A writeback cycle moves 128 bytes; GA100 and AD104 count those of shared memory elsewhere.
constexpr Piece kL1Peak =
    "128 * l1tex__lsu_writeback_active_mem_lgds.sum.peak_sustained * l1tex__cycles_elapsed.avg.per_second | "
    "128 * l1tex__lsu_writeback_active_mem_lg.sum.peak_sustained * l1tex__cycles_elapsed.avg.per_second";
constexpr Piece kDramBytes = "dram__bytes_read.sum + dram__bytes_write.sum";
constexpr Piece kPerSecond = " / (gpu__time_duration.sum * 1e-9) * range.elapsed_correction";

constexpr auto kTensorFlops = kTensorWork + " | " + kTensorWorkByResult;
constexpr auto kExecutedFlopsPerSecond = "(" + kTensorWork + " + " + kFp32Work + ")" + kPerSecond + " | (" +
                                         kTensorWorkByResult + " + " + kFp32Work + ")" + kPerSecond;
constexpr auto kArithmeticIntensity = "(" + kTensorWork + " + " + kFp32Work + ") / (" + kDramBytes + ") | (" +
                                      kTensorWorkByResult + " + " + kFp32Work + ") / (" + kDramBytes + ")";
constexpr auto kTensorPeaks = kTensorPeak + " | " + kTensorPeakByResult;
constexpr auto kMmaSyncPeaks =
    "sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32_sparsity_off.sum.peak_sustained * sm__cycles_elapsed.avg.per_second "
    "| " +
    kTensorPeakByResult;
constexpr auto kRooflineRatio = "max((" + kTensorWork + " + " + kFp32Work + ") / (" + kTensorPeak + "), (" +
                                kDramBytes + ") / (" + kDramPeak + "))" + kPerSecond + " | max((" +
                                kTensorWorkByResult + " + " + kFp32Work + ") / (" + kTensorPeakByResult + "), (" +
                                kDramBytes + ") / (" + kDramPeak + "))" + kPerSecond;
constexpr auto kRooflineRidge =
    kTensorPeak + " / (" + kDramPeak + ") | " + kTensorPeakByResult + " / (" + kDramPeak + ")";
constexpr auto kDramBytesPerSecond = "(" + kDramBytes + ")" + kPerSecond;

template <std::size_t kRow>
constexpr Piece<kStallReasons[kRow].reason.size() + 1> kReason{kStallReasons[kRow].reason};
template <std::size_t kRow>
constexpr auto kStallId = "stall_" + kReason<kRow> + "_ratio";
template <std::size_t kRow>
constexpr auto kStalled = "smsp__average_warps_issue_stalled_" + kReason<kRow> +
                          "_per_issue_active.ratio / smsp__average_warp_latency_per_inst_issued.ratio";
template <std::size_t kRow>
constexpr auto kStalledOrTriage = kStalled<kRow> + " | SM_C.TriageCompute.smsp__warps_issue_stalled_" + kReason<kRow> +
                                  ".sum / TPC.TriageCompute.tpc__warps_active_shader_cs_realtime.sum";

/// A stall reason's row: the share of the warp-cycles that was spent in it.
template <std::size_t kRow>
constexpr CatalogueMetric Stall() {
  constexpr StallReason kStall = kStallReasons[kRow];
  std::string_view formula = kStalled<kRow>;
  if constexpr (kStall.counters == StallCounters::kNamedAndTriage) formula = kStalledOrTriage<kRow>;
  return {kStallId<kRow>, kStall.reason, "ratio", kNeutral, kNoisy, formula, kNcuStates, kStall.help};
}

template <std::size_t... kRows>
constexpr auto Stalls(std::index_sequence<kRows...> /*rows*/) {
  return std::array{Stall<kRows>()...};
}

constexpr bool IsCounted(const StallReason& stall) { return stall.counters != StallCounters::kNone; }
static_assert(std::ranges::is_partitioned(kStallReasons, IsCounted), "rows with counters come first");

template <std::size_t kA, std::size_t kB>
constexpr auto Join(const CatalogueMetric (&metrics)[kA], const std::array<CatalogueMetric, kB>& stalls,
                    const CatalogueMetric& last) {
  std::array<CatalogueMetric, kA + kB + 1> all{};
  *std::ranges::copy(stalls, std::ranges::copy(metrics, all.begin()).out).out = last;
  return all;
}

// These rules shape the formulas below.
// - The whole tensor pipe also runs HFMA2, which compilers use to load constants: once per warp in kernels that have no
//   matrix instruction at all. Instruction counts are therefore taken per opcode, and HFMA2 is subtracted on the chips
//   that count it (GA100, GH100).
// - On GH100 op_hmma counts warpgroup MMA too, and pipe_tensor_cycles_active.sum counts four sub-cores an SM.
// - Shared-memory wavefronts and conflicts are noisy: arbitration with cp.async and global stores moves them by up to
//   half a percent between launches of the same code.
// - Where a chip has a counter and its `_v2` (AD104), Nsight Compute reads the second; so do these formulas.
// - A value per elapsed time is that of the range, and a user range also holds the launch's latency: about 5 us. Such
//   formulas are multiplied with range.elapsed_correction, which refers them to the call's unprofiled duration.
// - Two counters lie on GH100 and are not used: TPC.TriageCompute.tpc__warps_active_realtime counts every warp
//   twice, and nothing while an SM is full (tpc__warps_active_shader_cs_realtime is right);
//   sm__inst_executed_pipe_tensor counts one HFMA2 per warp.
// - Counters in a `TriageCompute` group share one pass of the range profiler. They are last in a list of alternatives:
//   a set of many passes has the named counters, the set `phases` has only these.
constexpr CatalogueMetric kMetrics[] = {
    // Time and throughput.
    {"duration_seconds", "duration", "seconds", kLower, kNoisy, "timing.median_ns * 1e-9",
     "median of unprofiled launches", "Duration of a launch without the profiler."},
    {"achieved_flops_per_second", "achieved", "flops_per_second", kHigher, kNoisy,
     "shape.flops / (timing.median_ns * 1e-9)", kPaper,
     "FLOPs the attention shape needs (not those executed) per second of unprofiled time."},
    {"shape_flops", "FLOPs of the shape", "flops", kNeutral, kExact, "shape.flops", kPaper,
     "FLOPs the mathematics of one call needs; the softmax is not counted."},
    {"gap_launches_seconds", "gaps, CPU launches", "seconds", kLower, kNoisy,
     "max(0, launch.span_ns - launch.busy_ns) * 1e-9", kLaunchRecord,
     "Time of a call of several kernels in which none of them ran, from launch records."},
    {"gap_timing_seconds", "call minus its parts", "seconds", kLower, kNoisy,
     "(timing.median_ns - timing.parts_median_ns) * 1e-9", kOurs,
     "Median time of the call minus the median times of its parts, each timed alone; negative when they overlap."},
    {"replay_duration_seconds", "duration under replay", "seconds", kNeutral, kNoisy, "gpu__time_duration.sum * 1e-9",
     kNcuGuide, "Time of the range in a profiled pass: the base of rates per second, not a result."},

    // Tensor cores.
    {"tensor_core_utilization_ratio", "tensor pipe active", "ratio", kHigher, kNoisy,
     "sm__pipe_tensor_cycles_active_v2.avg.pct_of_peak_sustained_active / 100 | "
     "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active / 100 | "
     "TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_active / 100 | "
     "TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.sum / "
     "(TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.sum.peak_sustained / device.sm_count) / "
     "TPC.TriageCompute.sm__cycles_active.sum",
     kNcuCompute, "Share of SM-active cycles in which the tensor pipe was busy; HFMA2 counts too."},
    {"tensor_active_cycles", "tensor pipe active cycles", "cycles", kNeutral, kNoisy,
     "sm__pipe_tensor_cycles_active_v2.avg.pct_of_peak_sustained_active / 100 * sm__cycles_active.sum | "
     "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active / 100 * sm__cycles_active.sum | "
     "TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.sum / "
     "(TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.sum.peak_sustained / device.sm_count)",
     kNcuGuide, "Cycles in which the tensor pipe was busy, summed over SMs."},
    {"hmma_instructions", "HMMA instructions", "instructions", kNeutral, kExact,
     "sm__inst_executed_pipe_tensor_op_hmma.sum - sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum - "
     "sm__inst_executed_pipe_tensor_op_gmma.sum | "
     "sm__inst_executed_pipe_tensor_op_hmma.sum - sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum | "
     "sm__inst_executed_pipe_tensor_op_hmma_v2.sum | sm__inst_executed_pipe_tensor_subpipe_hmma.sum",
     kNcuGuide,
     "Warp-level half-precision matrix instructions; HFMA2 and warpgroup MMA are subtracted where the chip counts them "
     "in."},
    {"gmma_instructions", "warpgroup MMA instructions", "instructions", kNeutral, kExact,
     "sm__inst_executed_pipe_tensor_op_gmma.sum", kNcuGuide, "Warpgroup matrix instructions (Hopper)."},
    {"tensor_flops", "tensor FLOPs executed", "flops", kNeutral, kExact, kTensorFlops, kNcuRoofline,
     "FLOPs executed on tensor cores in fp16, bf16 and tf32."},

    // Speed of light.
    {"compute_sol_ratio", "compute throughput", "ratio", kHigher, kNoisy,
     "sm__throughput.avg.pct_of_peak_sustained_elapsed / 100 * range.elapsed_correction | "
     "TriageCompute.sm__throughput.avg.pct_of_peak_sustained_elapsed / 100 * range.elapsed_correction",
     kNcuSol, "Busiest of the SM's compute units against its peak."},
    {"memory_sol_ratio", "memory throughput", "ratio", kNeutral, kNoisy,
     "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed / 100 * range.elapsed_correction | "
     "max(max(gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed, "
     "LTS.TriageCompute.lts__throughput.avg.pct_of_peak_sustained_elapsed) / 100 * range.elapsed_correction, "
     "SM_A.TriageCompute.l1tex__throughput.avg.pct_of_peak_sustained_active / 100)",
     kNcuSol, "Busiest of the memory units (L1, L2, DRAM) against its peak."},
    {"l1_sol_ratio", "L1 throughput", "ratio", kNeutral, kNoisy,
     "l1tex__throughput.avg.pct_of_peak_sustained_active / 100 | "
     "SM_A.TriageCompute.l1tex__throughput.avg.pct_of_peak_sustained_active / 100",
     kNcuSol, "L1/texture unit against its peak."},
    {"l2_sol_ratio", "L2 throughput", "ratio", kNeutral, kNoisy,
     "lts__throughput.avg.pct_of_peak_sustained_elapsed / 100 * range.elapsed_correction | "
     "LTS.TriageCompute.lts__throughput.avg.pct_of_peak_sustained_elapsed / 100 * range.elapsed_correction",
     kNcuSol, "L2 slices against their peak."},
    {"dram_sol_ratio", "DRAM throughput", "ratio", kNeutral, kNoisy,
     "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed / 100 * range.elapsed_correction", kNcuSol,
     "Device memory against its peak."},

    // Roofline.
    {"fp32_flops", "fp32 FLOPs executed", "flops", kNeutral, kExact, kFp32Work, kNcuRoofline,
     "FLOPs of FFMA, FADD and FMUL whose predicate was on."},
    {"executed_flops_per_second", "executed FLOP/s", "flops_per_second", kHigher, kNoisy, kExecutedFlopsPerSecond,
     kNcuRoofline, "Tensor and fp32 FLOPs the hardware executed per second of the profiled pass."},
    {"arithmetic_intensity_dram", "arithmetic intensity, DRAM", "flops_per_byte", kNeutral, kNoisy,
     kArithmeticIntensity, kNcuRoofline, "Executed FLOPs per byte of DRAM traffic."},
    {"peak_tensor_flops_per_second", "tensor peak", "flops_per_second", kNeutral, kNoisy, kTensorPeaks, kNcuRoofline,
     "Dense fp16 tensor peak at the SM clock of the profiled pass."},
    {"peak_mma_sync_flops_per_second", "mma.sync peak", "flops_per_second", kNeutral, kNoisy, kMmaSyncPeaks,
     kNcuRoofline, "Dense fp16 peak of warp-level matrix instructions: on Hopper two thirds of the tensor peak."},
    {"peak_fp32_flops_per_second", "fp32 peak", "flops_per_second", kNeutral, kNoisy, kFp32Peak, kNcuRoofline,
     "Peak of fp32 multiply-adds (FFMA) at the SM clock of the profiled pass."},
    {"peak_l1_bytes_per_second", "L1 peak", "bytes_per_second", kNeutral, kNoisy, kL1Peak, kNcuRoofline,
     "Bytes that the L1 caches of all SMs can return: 128 a cycle each, at the clock of the profiled pass."},
    {"peak_dram_bytes_per_second", "DRAM peak", "bytes_per_second", kNeutral, kNoisy, kDramPeak, kNcuRoofline,
     "DRAM bandwidth at the memory clock of the profiled pass."},
    {"roofline_ratio", "of the roofline", "ratio", kHigher, kNoisy, kRooflineRatio, kNcuRoofline,
     "Executed FLOP/s over what the roofline allows at this arithmetic intensity: tensor peak or DRAM bandwidth."},
    {"roofline_ridge", "ridge of the roofline", "flops_per_byte", kNeutral, kNoisy, kRooflineRidge, kNcuRoofline,
     "Arithmetic intensity at which the tensor peak, and no longer DRAM, is the roof."},

    // Occupancy and issue.
    {"theoretical_occupancy_ratio", "theoretical occupancy", "ratio", kNeutral, kExact,
     "launch.theoretical_occupancy_ratio", "CUDA occupancy calculator",
     "Warps the launch allows on an SM over warps the SM can hold."},
    {"achieved_occupancy_ratio", "achieved occupancy", "ratio", kNeutral, kNoisy,
     "sm__warps_active.avg.pct_of_peak_sustained_active / 100 | "
     "TPC.TriageCompute.tpc__warps_active_shader_cs_realtime.sum / TPC.TriageCompute.sm__cycles_active.sum / "
     "device.max_warps_per_sm",
     "Nsight Compute section Occupancy", "Mean resident warps per active SM cycle over warps the SM can hold."},
    {"waves", "waves", "count", kNeutral, kExact, "launch.waves", "Nsight Compute launch__waves_per_multiprocessor",
     "Blocks over the blocks that fit on the GPU at once; below 1 SMs have nothing to do."},
    {"sm_active_ratio", "SMs active", "ratio", kHigher, kNoisy,
     "sm__cycles_active.avg / sm__cycles_elapsed.max * range.elapsed_correction",
     "Nsight Compute section WorkloadDistribution", "Share of the time in which an SM had at least one warp."},
    {"sm_active_cycles", "SM active cycles", "cycles", kNeutral, kNoisy,
     "sm__cycles_active.sum | TPC.TriageCompute.sm__cycles_active.sum", kNcuGuide,
     "Cycles with at least one resident warp, summed over SMs."},
    {"warps_active_cycles", "warp-cycles", "cycles", kNeutral, kNoisy,
     "sm__warps_active.sum | "
     "TPC.TriageCompute.tpc__warps_active_shader_cs_realtime.sum",
     kNcuGuide, "Resident warps, summed over cycles and SMs."},
    {"issue_slot_utilization_ratio", "issue slots busy", "ratio", kHigher, kNoisy,
     "smsp__issue_active.avg.pct_of_peak_sustained_active / 100", "Nsight Compute section SchedulerStats",
     "Share of scheduler-active cycles in which an instruction was issued."},
    {"instructions_per_cycle", "instructions per cycle", "instructions_per_cycle", kHigher, kNoisy,
     "sm__inst_executed.avg.per_cycle_active | "
     "TPC.TriageCompute.sm__inst_executed_realtime.sum / TPC.TriageCompute.sm__cycles_active.sum",
     kNcuCompute, "Warp instructions executed per active cycle of an SM; 4 at most."},
    {"instructions", "instructions", "instructions", kLower, kExact,
     "smsp__inst_executed.sum | TPC.TriageCompute.sm__inst_executed_realtime.sum", kNcuGuide,
     "Warp instructions executed."},
    {"threads_per_instruction", "threads per instruction", "threads", kHigher, kExact,
     "min(smsp__thread_inst_executed_per_inst_executed.ratio, 32)", kNcuStates,
     "Active threads per executed warp instruction, of 32; near 1 is the mark of single-thread code."},

    // Pipes: how busy each is, and what share of the instructions it ran.
    {"fma_pipe_ratio", "FMA pipe", "ratio", kNeutral, kNoisy,
     "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active / 100", kNcuCompute, "FMA pipe against its peak."},
    {"alu_pipe_ratio", "ALU pipe", "ratio", kNeutral, kNoisy,
     "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active / 100", kNcuCompute, "ALU pipe against its peak."},
    {"xu_pipe_ratio", "XU pipe", "ratio", kNeutral, kNoisy,
     "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active / 100", kNcuCompute,
     "Transcendental pipe (exp2, conversions) against its peak."},
    {"lsu_pipe_ratio", "LSU pipe", "ratio", kNeutral, kNoisy,
     "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active / 100", kNcuCompute,
     "Load/store pipe against its peak."},
    {"fma_instruction_ratio", "FMA share", "ratio", kNeutral, kExact,
     "sm__inst_executed_pipe_fma.sum / smsp__inst_executed.sum", kNcuCompute,
     "Share of the warp instructions that ran on the FMA pipe."},
    {"alu_instruction_ratio", "ALU share", "ratio", kNeutral, kExact,
     "sm__inst_executed_pipe_alu.sum / smsp__inst_executed.sum", kNcuCompute,
     "Share of the warp instructions that ran on the ALU pipe."},
    {"xu_instruction_ratio", "XU share", "ratio", kNeutral, kExact,
     "sm__inst_executed_pipe_xu.sum / smsp__inst_executed.sum | "
     "SM_A.TriageCompute.sm__inst_executed_pipe_xu_realtime.sum / TPC.TriageCompute.sm__inst_executed_realtime.sum",
     kNcuCompute, "Share of the warp instructions that ran on the transcendental pipe."},
    {"lsu_instruction_ratio", "LSU share", "ratio", kNeutral, kExact,
     "sm__inst_executed_pipe_lsu.sum / smsp__inst_executed.sum", kNcuCompute,
     "Share of the warp instructions that ran on the load/store pipe."},
    {"hmma_instruction_ratio", "HMMA share", "ratio", kNeutral, kExact,
     "(sm__inst_executed_pipe_tensor_op_hmma.sum - sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum - "
     "sm__inst_executed_pipe_tensor_op_gmma.sum) / smsp__inst_executed.sum | "
     "(sm__inst_executed_pipe_tensor_op_hmma.sum - sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum) / "
     "smsp__inst_executed.sum | sm__inst_executed_pipe_tensor_op_hmma_v2.sum / smsp__inst_executed.sum | "
     "sm__inst_executed_pipe_tensor_subpipe_hmma.sum / smsp__inst_executed.sum",
     kNcuCompute, "Share of the warp instructions that were half-precision matrix instructions."},
    {"ldsm_instructions", "LDSM instructions", "instructions", kNeutral, kExact, "smsp__inst_executed_op_ldsm.sum",
     kNcuMemory, "ldmatrix instructions."},
    {"ldgsts_instructions", "LDGSTS instructions", "instructions", kNeutral, kExact,
     "smsp__inst_executed_op_ldgsts.sum", kNcuMemory, "cp.async instructions: global to shared memory."},

    // Shared memory.
    {"shared_instructions", "shared requests", "instructions", kLower, kExact, "smsp__sass_inst_executed_op_shared.sum",
     kNcuMemory, "Warp instructions that touch shared memory."},
    {"shared_wavefronts", "data-pipe shared wavefronts", "count", kLower, kNoisy,
     "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum | "
     "SM_A.TriageCompute.l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
     kNcuMemory,
     "Wavefronts that the L1 data pipe took for shared memory: loads, stores, and parts of cp.async, matrix operands "
     "and mbarrier operations; on an H200 a kernel without any still counts one a warp."},
    {"shared_excess_wavefronts", "data-pipe bank conflicts", "count", kLower, kNoisy,
     "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", kNcuMemory,
     "Wavefronts that the L1 data pipe repeated: conflicts of loads and stores among each other and with other "
     "traffic; those of cp.async are not counted."},
    {"shared_conflicts_per_request", "data-pipe conflicts per request", "count", kLower, kNoisy,
     "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum / smsp__sass_inst_executed_op_shared.sum", kNcuMemory,
     "Data-pipe bank conflicts per shared-memory instruction: 0 is conflict-free, 1 a two-way conflict on "
     "one-wavefront loads."},
    {"shared_wavefronts_per_request", "data-pipe wavefronts per request", "count", kLower, kNoisy,
     "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum / smsp__sass_inst_executed_op_shared.sum", kNcuMemory,
     "Data-pipe shared wavefronts per shared-memory instruction; 128-bit and matrix loads need several without any "
     "conflict."},

    // Caches and memory.
    {"global_load_sectors_per_request", "sectors per global load", "sectors", kLower, kExact,
     "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum / l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", kNcuMemory,
     "32-byte sectors per warp-level global load: 4 for coalesced 4-byte loads, 32 for fully scattered ones."},
    {"global_store_sectors_per_request", "sectors per global store", "sectors", kLower, kNoisy,
     "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum / l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", kNcuMemory,
     "32-byte sectors per warp-level global store."},
    {"l1_global_bytes", "global load/store bytes", "bytes", kLower, kNoisy,
     "32 * (l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum + l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum)",
     kNcuMemory, "Bytes of global loads and stores that reached the L1; cp.async and TMA are not in it."},
    {"l1_hit_ratio", "L1 hit rate", "ratio", kHigher, kNoisy, "l1tex__t_sector_hit_rate.pct / 100", kNcuMemory,
     "Share of L1 sector lookups that hit."},
    {"l2_bytes", "L2 bytes", "bytes", kLower, kNoisy, "32 * lts__t_sectors_srcunit_tex.sum", kNcuMemory,
     "Bytes between the SMs' L1 caches and the L2."},
    {"l2_bytes_per_second", "L2 bandwidth", "bytes_per_second", kNeutral, kNoisy,
     "32 * lts__t_sectors_srcunit_tex.sum / (gpu__time_duration.sum * 1e-9) * range.elapsed_correction", kNcuMemory,
     "Bytes between L1 and L2 per second of the profiled pass."},
    {"l2_hit_ratio", "L2 hit rate", "ratio", kHigher, kNoisy,
     "lts__t_sectors_lookup_hit.sum / (lts__t_sectors_lookup_hit.sum + lts__t_sectors_lookup_miss.sum) | "
     "lts__t_sector_hit_rate.pct / 100",
     kNcuMemory, "Share of L2 sector lookups that hit."},
    {"dram_bytes", "DRAM bytes", "bytes", kLower, kNoisy, kDramBytes, kNcuMemory,
     "Bytes read from and written to device memory."},
    {"dram_bytes_per_second", "DRAM bandwidth", "bytes_per_second", kNeutral, kNoisy, kDramBytesPerSecond, kNcuMemory,
     "DRAM bytes per second of the profiled pass."},
    {"local_memory_bytes", "local memory traffic", "bytes", kLower, kExact,
     "32 * (l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum + l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum)", kNcuMemory,
     "Bytes of local loads and stores: register spills and arrays indexed at run time."},
    {"local_memory_per_thread_bytes", "local memory per thread", "bytes", kLower, kExact,
     "launch.local_memory_per_thread_bytes", kLaunchRecord,
     "Local memory per thread: register spills and stack frames."},
    {"registers_per_thread", "registers per thread", "count", kNeutral, kExact, "launch.registers_per_thread",
     kLaunchRecord, "Registers per thread of the longest launch."},
    {"shared_memory_per_block_bytes", "shared memory per block", "bytes", kNeutral, kExact,
     "launch.shared_memory_per_block_bytes", kLaunchRecord,
     "Static and dynamic shared memory per block of the longest launch."},
};

// Warp states: what share of the warp-cycles was spent in each.
constexpr auto kStallRows = Stalls(std::make_index_sequence<std::ranges::count_if(kStallReasons, IsCounted)>());
constexpr CatalogueMetric kIssuing = {"warp_issuing_ratio",
                                      "issuing",
                                      "ratio",
                                      kNeutral,
                                      kNoisy,
                                      "smsp__average_warps_issue_stalled_selected_per_issue_active.ratio / "
                                      "smsp__average_warp_latency_per_inst_issued.ratio",
                                      kNcuStates,
                                      "Share of the warp-cycles in which the warp issued an instruction."};

constexpr auto kCatalogue = Join(kMetrics, kStallRows, kIssuing);

bool StartsName(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool InName(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

bool IsVariable(std::string_view name) {
  return name.starts_with("device.") || name.starts_with("launch.") || name.starts_with("shape.") ||
         name.starts_with("timing.") || name.starts_with("range.");
}

}  // namespace

std::span<const CatalogueMetric> MetricCatalogue() { return kCatalogue; }

const CatalogueMetric* FindMetric(std::string_view id) {
  const auto found = std::ranges::find(kCatalogue, id, &CatalogueMetric::id);
  return found == kCatalogue.end() ? nullptr : &*found;
}

std::vector<std::string> FormulaNames(std::string_view formula) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < formula.size();) {
    const std::size_t start = i;
    while (i < formula.size() && InName(formula[i])) ++i;
    if (i == start) {
      ++i;
      continue;
    }
    // A number may hold letters (1e-9); a function is a name before a parenthesis.
    const bool function = i < formula.size() && formula[i] == '(';
    if (StartsName(formula[start]) && !function) names.emplace_back(formula.substr(start, i - start));
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<std::string> CatalogueInputs() {
  std::vector<std::string> inputs;
  for (const CatalogueMetric& metric : kCatalogue) {
    for (std::string& name : FormulaNames(metric.formula)) {
      if (!IsVariable(name)) inputs.push_back(std::move(name));
    }
  }
  std::ranges::sort(inputs);
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  return inputs;
}

}  // namespace fa_profile
