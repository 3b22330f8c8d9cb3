#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// Counts, per instruction, how often warps executed it (CUPTI SASS metrics).
inline constexpr const char* kExecuted = "smsp__sass_inst_executed";
/// The number of active threads that executed it, predicated off or not.
inline constexpr const char* kThreadsExecuted = "smsp__sass_thread_inst_executed";
/// Wavefronts of shared memory, and how many there would be without bank conflicts.
inline constexpr const char* kWavefronts = "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared";
inline constexpr const char* kWavefrontsIdeal = "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal";
/// Sectors of global memory, and how many the same threads would need side by side.
inline constexpr const char* kSectors = "smsp__sass_sectors_mem_global";
inline constexpr const char* kSectorsIdeal = "smsp__sass_sectors_mem_global_ideal";

/// The functions sampled or counted in these pieces (each may be null); in the recording's order.
std::vector<const DeviceFunction*> MeasuredFunctions(const Recording& recording,
                                                     const std::vector<const PcSampling*>& samplings,
                                                     const std::vector<const SassCounting*>& countings);

/// The functions sampled or counted in any call of a case.
std::vector<const DeviceFunction*> MeasuredFunctions(const Recording& recording, std::int64_t case_id);

/// Index of the instruction at `offset`; nothing if none begins there.
std::optional<std::size_t> IndexOf(const DeviceFunction& function, std::uint32_t offset);

/// How often warps executed each instruction of a function; empty if none of it was counted, or `counting` is null.
std::vector<double> ExecutedOf(const DeviceFunction& function, const SassCounting* counting);

/// The metrics that the chip, or its CUPTI, lacks: their absence is not 0.
std::set<std::string> UnavailableMetrics(const Recording& recording);

}  // namespace fa_profile::analyze
