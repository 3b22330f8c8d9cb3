#include <algorithm>
#include <iterator>

#include "catalogue_words.h"

namespace fa_profile {
namespace {

constexpr std::string_view kSamples = "CUPTI PC sampling, docs/phases.md";
constexpr std::string_view kSass = "CUPTI SASS metrics, per instruction";
constexpr std::string_view kOpcodes = "CUPTI SASS metrics, per instruction, times what its opcode does";
constexpr std::string_view kThroughput = "CUDA C++ Programming Guide, arithmetic instructions: 16 a cycle and SM";

// Shares of the kernel are relative to `kernel.`, the sum over all phases, so that the shares in a table add up to 1.
// Counts are for one call; a phase whose instructions never executed has 0, because its instructions were counted.
constexpr CatalogueMetric kPhaseCatalogue[] = {
    // Time.
    {"phase_time_ratio", "time share", "ratio", kNeutral, kNoisy, "time.samples / kernel.time.samples", kSamples,
     "Share of the kernel's time: warps at work in the phase, and those that waited at a barrier for it."},
    {"phase_time_seconds", "time", "seconds", kLower, kNoisy,
     "time.samples / kernel.time.samples * timing.median_ns * 1e-9", kSamples,
     "The phase's share of the median duration without the profiler."},
    {"phase_warp_time_ratio", "warp time share", "ratio", kNeutral, kNoisy, "samples.total / kernel.samples.total",
     kSamples, "Share of all samples that stood at the phase's own instructions, waits included."},
    {"phase_issue_ratio", "issue share", "ratio", kNeutral, kNoisy, "samples.selected / kernel.samples.selected",
     kSamples, "Of all samples in which a warp issued an instruction, those of the phase: over all phases 1."},
    {"phase_waiting_ratio", "waiting", "ratio", kLower, kNoisy, "samples.waiting / samples.total", kSamples,
     "Of the phase's own samples, those that waited at a barrier or for another role."},
    {"phase_async_wait_ratio", "asynchronous waits", "ratio", kNeutral, kNoisy, "samples.uncharged / samples.total",
     kSamples,
     "Of the phase's own samples, those that waited for an asynchronous copy or another role: they are in no phase's "
     "time share."},

    // Instructions.
    {"phase_instructions", "instructions", "instructions", kLower, kExact, "sass.smsp__sass_inst_executed", kSass,
     "Warp instructions executed."},
    {"phase_threads_per_instruction", "threads per instruction", "threads", kHigher, kExact,
     "sass.smsp__sass_thread_inst_executed / sass.smsp__sass_inst_executed", kSass,
     "Mean active threads of the warps that executed an instruction: 32 at best, 1 where one thread works alone."},
    {"phase_tensor_instructions", "tensor instructions", "instructions", kNeutral, kExact, "inst.tensor", kOpcodes,
     "Matrix instructions executed: HMMA, HGMMA and their kin."},
    {"phase_tensor_flops", "tensor FLOPs", "flops", kNeutral, kExact, "work.tensor_flops", kOpcodes,
     "FLOPs of the matrix instructions, by the shape in their opcode."},
    {"phase_tensor_utilization_ratio", "of tensor peak", "ratio", kHigher, kNoisy,
     "work.tensor_flops / (time.samples / kernel.time.samples * timing.median_ns * 1e-9) / "
     "metric.peak_tensor_flops_per_second",
     kOpcodes, "Tensor FLOPs per second of the phase's own time, of the dense fp16 tensor peak."},
    {"phase_flops", "FLOPs", "flops", kNeutral, kExact, "work.flops", kOpcodes,
     "fp32 and fp16 FLOPs outside the tensor cores, of threads whose predicate was on."},
    {"phase_exponentials", "exponentials", "count", kNeutral, kExact, "work.exponentials", kOpcodes,
     "Exponentials computed: threads of MUFU.EX2, predicate on; packed ones twice."},
    {"phase_mufu_utilization_ratio", "of MUFU peak", "ratio", kNeutral, kNoisy,
     "(thread_inst.exponential + thread_inst.special) / (16 * device.sm_count * device.sm_clock_max_hz * "
     "time.samples / kernel.time.samples * timing.median_ns * 1e-9)",
     kThroughput,
     "Special-function operations (MUFU) per second of the phase's own time, of 16 a cycle and SM at the highest "
     "clock."},

    // Memory.
    {"phase_shared_wavefronts", "SASS shared wavefronts", "count", kLower, kExact,
     "sass.smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared", kSass,
     "Wavefronts that shared-memory instructions took, cp.async included, counted per instruction."},
    {"phase_shared_wavefronts_ideal", "ideal SASS shared wavefronts", "count", kNeutral, kExact,
     "sass.smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal", kSass,
     "SASS shared wavefronts without bank conflicts."},
    {"phase_bank_conflicts", "bank conflicts", "count", kLower, kExact,
     "max(0, sass.smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared - "
     "sass.smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal)",
     kSass, "SASS shared wavefronts beyond the ideal: each one repeats an access."},
    {"phase_bank_conflict_ratio", "conflicting wavefronts", "ratio", kLower, kExact,
     "max(0, sass.smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared - "
     "sass.smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal) / "
     "sass.smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared",
     kSass, "Of the phase's SASS shared wavefronts, those beyond the ideal."},
    {"phase_global_sectors", "global sectors", "sectors", kLower, kExact, "sass.smsp__sass_sectors_mem_global", kSass,
     "32-byte sectors of global memory that L1 was asked for."},
    {"phase_global_sectors_ideal", "ideal global sectors", "sectors", kNeutral, kExact,
     "sass.smsp__sass_sectors_mem_global_ideal", kSass,
     "Sectors that the same threads would have needed side by side."},
    {"phase_global_bytes", "global bytes", "bytes", kLower, kExact, "32 * sass.smsp__sass_sectors_mem_global", kSass,
     "Bytes of the global-memory sectors that L1 was asked for, cp.async included; what it has itself never reaches L2 "
     "or DRAM."},
    {"phase_coalescing_ratio", "coalescing", "ratio", kHigher, kExact,
     "sass.smsp__sass_sectors_mem_global_ideal / sass.smsp__sass_sectors_mem_global", kSass,
     "Ideal sectors over sectors: 1 when neighbouring threads use neighbouring bytes."},
    {"phase_local_sectors", "local sectors", "sectors", kLower, kExact, "sass.smsp__sass_sectors_mem_local", kSass,
     "32-byte sectors of local memory: spills, and arrays indexed at run time."},
    {"phase_barriers", "barriers", "instructions", kLower, kExact, "inst.barrier", kSass,
     "Block-wide barrier instructions (BAR) executed by warps."},
};

}  // namespace

std::span<const CatalogueMetric> PhaseCatalogue() { return kPhaseCatalogue; }

const CatalogueMetric* FindPhaseMetric(std::string_view id) {
  const auto found = std::ranges::find(kPhaseCatalogue, id, &CatalogueMetric::id);
  return found == std::end(kPhaseCatalogue) ? nullptr : found;
}

}  // namespace fa_profile
