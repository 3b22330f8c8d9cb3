#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/child_process.h"
#include "fa_profile/diagnosis.h"
#include "fa_profile/gpu_reading.h"

namespace fa_profile::jobs {

/// Questions about GPUs, their kernels and counters, answered by builds with CUDA and without (no_cuda.cpp).

/// "" if this process could profile; otherwise why not ("no NVIDIA driver", "built without CUDA").
std::string WhyNoGpu();

/// Throws Error, "`what` needs a GPU", when WhyNoGpu() gives a reason.
void RequireGpu(const std::string& what);

/// What would stop a measurement on this GPU. A build without CUDA says that it cannot measure, and why.
std::vector<Diagnosis> DiagnoseGpu(int device);

/// Prints the names that `wanted` accepts. A build without CUDA throws Error. `paths`: kernel libraries, loaded in a
/// child process.
using Wanted = std::function<bool(std::string_view name)>;
void ListKernels(const Wanted& wanted, const std::vector<std::string>& paths);
void ListCounters(const std::string& chip, const Wanted& wanted);
void ListChips();

/// Ids of the ladder's kernels; empty in a build without CUDA.
std::vector<std::string> KnownKernels();

/// Chips that CUPTI knows; in a build without CUDA those that have metric sets.
std::vector<std::string> KnownChips();

/// Base names of every counter of the chips that have metric sets; empty in a build without CUDA.
std::set<std::string> KnownCounters();

/// Reads the host's GPUs through NVML, loading the library with this name. In a build without CUDA the reading has no
/// NVML.
std::function<HostReading()> MakeGpuReader(const std::string& library);

/// The id of a kernel library's kernel, obtained in a child process. Throws Error in a build without CUDA, for a
/// library that cannot be loaded, and for one that exceeds the limits.
std::string KernelOfLibrary(const std::string& path, const ChildLimits& limits);

/// Processes with a compute context on the GPU with this UUID, as counted by NVML. Absent: NVML does not know, or this
/// build has no CUDA.
std::optional<unsigned> ComputeProcesses(const std::string& uuid);

}  // namespace fa_profile::jobs
