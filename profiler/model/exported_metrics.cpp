#include "fa_profile/exported_metrics.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace fa_profile {
namespace {

constexpr auto kCounter = ExportedType::kCounter;
constexpr auto kGauge = ExportedType::kGauge;
constexpr auto kHistogram = ExportedType::kHistogram;

constexpr std::string_view kPerCase = "gpu kernel shape";
constexpr std::string_view kPerKernel = "gpu kernel";
constexpr std::string_view kPerPhase = "gpu kernel phase";

// Counters rather than ratios: a fleet must sum before it divides. Each recording is added once. It times many calls
// (launches) and takes the counters of one (profiled launches): divide a sum by the matching count.
constexpr ExportedMetric kTable[] = {
    // What was run, and how long it took.
    {"faprof_kernel_launches_total", kCounter, "count", kPerCase,
     "Timed calls of the ladder, or all launches of a watched program.", "timing"},
    {"faprof_kernel_profiled_launches_total", kCounter, "count", kPerCase,
     "Calls whose hardware counters were taken. Cycles, instructions, wavefronts and bytes are sums over them.",
     "ranges"},
    {"faprof_kernel_flops_total", kCounter, "flops", kPerCase,
     "FLOPs that the timed calls need by definition; the softmax is not counted.", "shape_flops"},
    {"faprof_kernel_duration_seconds", kHistogram, "seconds", kPerCase, "Durations of calls without the profiler.",
     "duration_seconds"},
    {"faprof_kernel_correct", kGauge, "bool", kPerKernel,
     "1 when the newest verification against the float64 reference passed, 0 when it failed.", "verification"},

    // Where the cycles went.
    {"faprof_phase_cycles_total", kCounter, "cycles", kPerPhase,
     "SM cycles of the profiled calls, split by the phases' shares of the time. Over all phases they add up to "
     "faprof_sm_active_cycles_total.",
     "phase_time_ratio"},
    {"faprof_phase_instructions_total", kCounter, "instructions", kPerPhase, "Warp instructions executed.",
     "phase_instructions"},
    {"faprof_phase_stall_cycles_total", kCounter, "warp cycles", "gpu kernel phase reason",
     "Cycles that resident warps spent at the phase's instructions for this reason, not issuing.", "stalls"},
    {"faprof_shared_wavefronts_total", kCounter, "wavefronts", kPerPhase,
     "Wavefronts that shared-memory instructions took, cp.async included, counted per instruction.",
     "phase_shared_wavefronts"},
    {"faprof_shared_excess_wavefronts_total", kCounter, "wavefronts", kPerPhase,
     "SASS shared wavefronts beyond the ideal: bank conflicts.", "phase_bank_conflicts"},
    {"faprof_tensor_active_cycles_total", kCounter, "cycles", kPerKernel,
     "Cycles in which the tensor pipe was busy, summed over SMs.", "tensor_active_cycles"},
    {"faprof_sm_active_cycles_total", kCounter, "cycles", kPerKernel,
     "Cycles in which an SM had a warp resident, summed over SMs.", "sm_active_cycles"},
    {"faprof_warps_active_cycles_total", kCounter, "warp cycles", kPerKernel,
     "Resident warps, summed over cycles and SMs.", "warps_active_cycles"},
    {"faprof_dram_bytes_total", kCounter, "bytes", kPerKernel, "Bytes read from and written to device memory.",
     "dram_bytes"},

    // How the kernel was built and launched, and what it reached: for its costliest shape in the newest recording.
    {"faprof_kernel_registers", kGauge, "registers", kPerKernel, "Registers per thread of the longest launch.",
     "registers_per_thread"},
    {"faprof_kernel_spill_bytes", kGauge, "bytes", kPerKernel,
     "Local memory per thread of the longest launch: spills, and arrays indexed at run time.",
     "local_memory_per_thread_bytes"},
    {"faprof_kernel_shared_memory_bytes", kGauge, "bytes", kPerKernel, "Shared memory per block of the longest launch.",
     "shared_memory_per_block_bytes"},
    {"faprof_kernel_theoretical_occupancy_ratio", kGauge, "ratio", kPerKernel,
     "Warps that the launch allows on an SM, as a share of the SM's maximum.", "theoretical_occupancy_ratio"},
    {"faprof_kernel_achieved_occupancy_ratio", kGauge, "ratio", kPerKernel,
     "Mean resident warps while an SM was busy, as a share of the SM's maximum.", "achieved_occupancy_ratio"},
    {"faprof_kernel_tensor_core_utilization_ratio", kGauge, "ratio", kPerKernel,
     "Share of the cycles in which the tensor pipe was busy.", "tensor_core_utilization_ratio"},
    {"faprof_kernel_phase_ratio", kGauge, "ratio", "gpu kernel shape phase",
     "The phase's share of the kernel's time at shapes of the bucket, in the newest recording that has them. A shape "
     "counts by the time of a call.",
     "phase_time_ratio"},
    {"faprof_kernel_bottleneck", kGauge, "bool", "gpu kernel shape bottleneck",
     "1 for the phase with the largest faprof_kernel_phase_ratio, 0 for the others.", "phase_time_ratio"},
    {"faprof_kernel_info", kGauge, "info", "gpu kernel origin commit",
     "Where the kernel came from, and the commit of the tool that measured it. Always 1.", "session"},

    // The baseline.
    {"faprof_baseline_phase_ratio", kGauge, "ratio", "kernel phase",
     "The phase's share of the kernel's SM cycles in the baseline recording, over all of its shapes.",
     "phase_time_ratio"},
    {"faprof_baseline_duration_seconds", kGauge, "seconds", "kernel shape",
     "Mean duration of the timed calls in the baseline recording, over its shapes of the bucket.", "timing"},
    {"faprof_baseline_timestamp_seconds", kGauge, "seconds", "", "When the baseline recording was taken, Unix time.",
     "session"},
    {"faprof_baseline_info", kGauge, "info", "gpu_name driver commit", "The baseline recording. Always 1.", "session"},

    // The gate, by case ("mma 4,16,1024,64").
    {"faprof_gate_verdict", kGauge, "bool", "case verdict", "1 for the newest verdict of the case, 0 for the others.",
     "gate"},
    {"faprof_gate_change_ratio", kGauge, "change", "case",
     "Change of the case's duration relative to its baseline: 0.05 is 5 % slower.", "gate"},
    {"faprof_gate_aa_trials_total", kCounter, "count", "", "Comparisons of the same code with itself.", "gate"},
    {"faprof_gate_aa_false_positives_total", kCounter, "count", "",
     "Comparisons of the same code with itself that were judged a regression.", "gate"},

    // The device, from NVML at each collection. GPM (Hopper and newer) counts in another unit than CUPTI.
    {"faprof_gpu_info", kGauge, "info", "gpu uuid name driver compute_capability", "The GPU. Always 1.", "NVML"},
    {"faprof_device_up", kGauge, "bool", "gpu", "1 when the GPU answered NVML.", "NVML"},
    {"faprof_device_sm_clock_hertz", kGauge, "hertz", "gpu", "SM clock.", "NVML clock info"},
    {"faprof_device_sm_clock_max_hertz", kGauge, "hertz", "gpu", "Highest SM clock.", "NVML max clock info"},
    {"faprof_device_memory_clock_hertz", kGauge, "hertz", "gpu", "Memory clock.", "NVML clock info"},
    {"faprof_device_power_watts", kGauge, "watts", "gpu", "Power draw.", "NVML power usage"},
    {"faprof_device_power_limit_watts", kGauge, "watts", "gpu", "Enforced power limit.", "NVML enforced power limit"},
    {"faprof_device_energy_joules_total", kCounter, "joules", "gpu", "Energy since the driver was loaded.",
     "NVML total energy consumption"},
    {"faprof_device_temperature_celsius", kGauge, "celsius", "gpu", "Temperature of the GPU.", "NVML temperature"},
    {"faprof_device_memory_used_bytes", kGauge, "bytes", "gpu", "Device memory in use.", "NVML memory info"},
    {"faprof_device_memory_total_bytes", kGauge, "bytes", "gpu", "Device memory.", "NVML memory info"},
    {"faprof_device_busy_ratio", kGauge, "ratio", "gpu", "Share of the time in which a kernel ran on the GPU.",
     "NVML utilization rates"},
    {"faprof_device_throttled", kGauge, "bool", "gpu reason",
     "1 while the clocks are lowered for this reason (sw_power_cap, hw_slowdown, sw_thermal, hw_thermal, "
     "hw_power_brake, sync_boost).",
     "NVML current clocks event reasons"},
    {"faprof_device_ecc_errors_total", kCounter, "count", "gpu kind",
     "ECC errors since the driver was loaded: corrected, uncorrected.", "NVML total ECC errors, volatile"},
    {"faprof_device_xid_errors_total", kCounter, "count", "gpu xid", "Xid errors seen since the exporter started.",
     "NVML events"},
    {"faprof_device_sm_active_ratio", kGauge, "ratio", "gpu",
     "Share of the cycles in which an SM was busy, mean over SMs.", "NVML GPM SM utilization"},
    {"faprof_device_sm_occupancy_ratio", kGauge, "ratio", "gpu", "Resident warps, as a share of the SMs' maximum.",
     "NVML GPM SM occupancy"},
    {"faprof_device_tensor_active_ratio", kGauge, "ratio", "gpu",
     "Share of the cycles in which the tensor pipes were busy.", "NVML GPM any tensor utilization"},
    {"faprof_device_dram_active_ratio", kGauge, "ratio", "gpu", "Share of the peak device-memory bandwidth in use.",
     "NVML GPM DRAM bandwidth utilization"},

    // The exporter itself.
    {"faprof_build_info", kGauge, "info", "version commit", "The exporter. Always 1.", "build"},
    {"faprof_simulation_info", kGauge, "info", "simulated hosts recording",
     "Present only when the data are simulated from a recording. Always 1.", "exporter"},
    {"faprof_exporter_up", kGauge, "bool", "collector",
     "1 when the newest collection from this source worked: spool, nvml, gpm, state.", "exporter"},
    {"faprof_exporter_last_collection_timestamp_seconds", kGauge, "seconds", "",
     "When the newest collection ended, Unix time.", "exporter"},
    {"faprof_exporter_last_recording_timestamp_seconds", kGauge, "seconds", "",
     "When the newest recording was counted, Unix time.", "exporter"},
    {"faprof_exporter_collection_duration_seconds", kGauge, "seconds", "", "How long the newest collection took.",
     "exporter"},
    {"faprof_exporter_recordings_total", kCounter, "count", "result",
     "Recordings found in the spool: counted, duplicate (counted before), bad (moved to bad/).", "exporter"},
    {"faprof_exporter_spool_files", kGauge, "count", "", "Recordings that wait in the spool.", "exporter"},
    {"faprof_exporter_samples_dropped_total", kCounter, "count", kPerKernel, "PC samples that the hardware dropped.",
     "exporter"},
    {"faprof_exporter_unattributed_ratio", kGauge, "ratio", kPerKernel,
     "Share of the kernel's time that belongs to no phase, newest recording.", "phase_time_ratio"},
    {"faprof_exporter_overhead_ratio", kGauge, "change", kPerKernel,
     "Relative slowdown of a call under PC sampling, newest recording: 0.1 is 10 % longer, below 0 is noise.",
     "samplings"},
    {"faprof_exporter_perfmon_conflicts_total", kCounter, "count", "",
     "Runs that could not profile because something else held the GPU's counters.", "failure notes in the spool"},
    {"faprof_exporter_failed_runs_total", kCounter, "count", "", "Runs that left a failure note in the spool.",
     "failure notes in the spool"},
    {"faprof_exporter_refused_states", kGauge, "count", "",
     "Damaged or impossible state files that were refused and kept aside: counters started from zero.", "exporter"},
    {"faprof_exporter_series", kGauge, "count", "", "Series on the newest page.", "exporter"},
    {"faprof_exporter_series_dropped_total", kCounter, "count", "",
     "Series left out of pages because of the limit, and kernels, phases and Xids folded into `other`.", "exporter"},
    {"faprof_exporter_kernels_merged_total", kCounter, "count", "",
     "Kernels of programs that share the series of another kernel of their recording, because only template arguments "
     "or "
     "parameters differ.",
     "session"},
    {"faprof_exporter_http_requests_total", kCounter, "count", "code", "HTTP requests answered, by status code.",
     "exporter"},
    {"faprof_exporter_http_connections", kGauge, "count", "", "HTTP connections that are open.", "exporter"},
    {"faprof_exporter_memory_bytes", kGauge, "bytes", "", "Resident memory of the exporter.", "/proc/self/statm"},
    {"faprof_exporter_cpu_seconds_total", kCounter, "seconds", "", "CPU time of the exporter.", "getrusage"},
    {"faprof_exporter_open_files", kGauge, "count", "", "Open file descriptors of the exporter.", "/proc/self/fd"},
    {"faprof_exporter_start_timestamp_seconds", kGauge, "seconds", "", "When the exporter started, Unix time.",
     "exporter"},
};

// Families of the exporter itself.
constexpr std::string_view kOwnPrefix = "faprof_exporter_";
constexpr std::string_view kOldOwnPrefix = "faprof_collector_";

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-9;  // shares that are added up may exceed 1 by this
constexpr double kAbsoluteZeroCelsius = -273.15;

}  // namespace

std::span<const ExportedMetric> ExportedMetrics() { return kTable; }

const ExportedMetric* FindExported(std::string_view name) {
  const auto* const found = std::ranges::find(kTable, name, &ExportedMetric::name);
  return found == std::end(kTable) ? nullptr : found;
}

bool ValueBounds::Hold(double value) const {
  return value >= least && value <= most + kRounding && (!whole || std::floor(value) == value);
}

ValueBounds BoundsOf(const ExportedMetric& metric) {
  if (metric.unit == "ratio") return {0, 1, false};
  if (metric.unit == "bool") return {0, 1, true};
  if (metric.unit == "info") return {1, 1, true};
  if (metric.unit == "change") return {-1, kInfinity, false};
  if (metric.unit == "celsius") return {kAbsoluteZeroCelsius, kInfinity, false};
  return {0, kInfinity, false};
}

std::string OldNameOf(std::string_view name) {
  if (!name.starts_with(kOwnPrefix)) return {};
  return std::string(kOldOwnPrefix) + std::string(name.substr(kOwnPrefix.size()));
}

std::string PresentNameOf(std::string_view name) {
  if (!name.starts_with(kOldOwnPrefix)) return std::string(name);
  return std::string(kOwnPrefix) + std::string(name.substr(kOldOwnPrefix.size()));
}

std::string_view ToString(ExportedType type) {
  switch (type) {
    case ExportedType::kCounter:
      return "counter";
    case ExportedType::kGauge:
      return "gauge";
    case ExportedType::kHistogram:
      return "histogram";
  }
  return "";
}

}  // namespace fa_profile
