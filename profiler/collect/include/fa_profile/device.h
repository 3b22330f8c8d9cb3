#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/diagnosis.h"
#include "fa_profile/recording.h"

namespace fa_profile::collect {

/// Number of CUDA devices; 0 without a driver. Never throws: having no GPU is not an error here.
int DeviceCount() noexcept;

/// Why DeviceCount() is 0, in words ("no NVIDIA driver"); otherwise empty.
std::string WhyNoDevice();

/// Makes device `ordinal` current, creates its context and reads its properties. Throws Error: not found (with the
/// ordinals that exist), no driver, a compute capability below 7.0. `counters` false: CUPTI is left alone, and what
/// only it knows (chip, cupti_version) stays empty, so that kernels can be verified under compute-sanitizer, itself a
/// CUPTI subscriber.
Device OpenDevice(int ordinal, bool counters = true);

/// The device current on the calling thread, whose context is left unchanged. For use inside a user's program, where
/// ObserveProgram() has subscribed to CUPTI.
Device OpenCurrentDevice();

/// Whether the current device's context still takes work: false after a kernel has crashed.
bool DeviceStillWorks() noexcept;

/// Destroys the current device's context and frees what it held; no CUDA object made before may be used after. For a
/// process that leaves the GPU to another.
void ReleaseDevice();

/// Current clocks, power and throttle reasons. What NVML does not answer is absent, and reported in `losses`.
ClockSample ReadClocks(const Device& device, const std::string& when, std::vector<DataLoss>& losses);

/// Processes with a compute context on the GPU with this UUID, as counted by NVML, this one included; absent if NVML
/// does not know. Creates no context.
std::optional<unsigned> CountComputeProcesses(const std::string& uuid);

/// Everything that would stop or weaken a run on this machine: driver, versions, permission, another profiler holding
/// the counters (found by taking them), NVML. Returns problems instead of throwing.
std::vector<Diagnosis> DiagnoseDevice(int ordinal);

}  // namespace fa_profile::collect
