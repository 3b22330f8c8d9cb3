#pragma once

#include <optional>

#include "fa_profile/totals.h"

namespace fa_profile {

/// A sum in Totals, with its name in files and on the page (docs/metrics.md). Reading, writing, merging and serving go
/// through these tables. To add a sum: a member in totals.h, a row here, a row in profiler/model/exported_metrics.cpp,
/// and what a recording adds to it in contribution.cpp.
template <typename Owner, typename Value>
struct Sum {
  const char* name;
  Value Owner::*value;
  const char* metric;  // null: served separately
};

inline constexpr Sum<ShapeTotals, double> kShapeSums[] = {
    {"launches", &ShapeTotals::launches, "faprof_kernel_launches_total"},
    {"profiled_launches", &ShapeTotals::profiled_launches, "faprof_kernel_profiled_launches_total"},
    {"flops", &ShapeTotals::flops, nullptr},
    {"duration_sum_seconds", &ShapeTotals::duration_sum_seconds, nullptr},
};

inline constexpr Sum<PhaseTotals, std::optional<double>> kPhaseSums[] = {
    {"instructions", &PhaseTotals::instructions, "faprof_phase_instructions_total"},
    {"wavefronts", &PhaseTotals::wavefronts, "faprof_shared_wavefronts_total"},
    {"excess_wavefronts", &PhaseTotals::excess_wavefronts, "faprof_shared_excess_wavefronts_total"},
};

inline constexpr Sum<KernelTotals, std::optional<double>> kKernelSums[] = {
    {"tensor_active_cycles", &KernelTotals::tensor_active_cycles, "faprof_tensor_active_cycles_total"},
    {"sm_active_cycles", &KernelTotals::sm_active_cycles, "faprof_sm_active_cycles_total"},
    {"warps_active_cycles", &KernelTotals::warps_active_cycles, "faprof_warps_active_cycles_total"},
    {"dram_bytes", &KernelTotals::dram_bytes, "faprof_dram_bytes_total"},
    {"dropped_samples", &KernelTotals::dropped_samples, "faprof_exporter_samples_dropped_total"},
};

/// Absent plus absent is absent; otherwise absent counts as 0.
inline void AddIfThere(std::optional<double>& sum, const std::optional<double>& value) {
  if (value) sum = sum.value_or(0) + *value;
}

}  // namespace fa_profile
