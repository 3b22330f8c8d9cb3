#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile {

/// Number of CUDA devices; 0 without a driver. Never throws: having no GPU is not an error here.
int DeviceCount() noexcept;

/// Why DeviceCount() is 0, in words ("no NVIDIA driver"); empty when it is not.
std::string WhyNoDevice();

/// Makes device `ordinal` current, creates its context and reads what it is. Throws Error: no such device (with those
/// there are), no driver, a compute capability below 7.0.
/// `counters` false: CUPTI is left alone, and what only it knows (chip, cupti_version) stays empty. That is what lets
/// kernels be verified under compute-sanitizer, which is a CUPTI subscriber itself.
Device OpenDevice(int ordinal, bool counters = true);

/// The device that is current on the calling thread, whatever made it current; its context is left as it is. For use
/// inside a program that is not ours.
Device OpenCurrentDevice();

/// Whether the current device's context still takes work: false after a kernel has crashed.
bool DeviceStillWorks() noexcept;

/// Destroys the current device's context and frees what it held; nothing of CUDA made before may be used after. For a
/// process that leaves the GPU to another.
void ReleaseDevice();

/// Share of the current device's memory that is free, 0 to 1. Throws Error.
double FreeMemoryShare();

/// Clocks, power and throttle reasons now. What NVML does not answer is absent, and said in `losses`.
ClockSample ReadClocks(const Device& device, const std::string& when, std::vector<DataLoss>& losses);

/// Processes with a compute context on the GPU of this UUID, as NVML counts them, this one included; absent when NVML
/// does not say. Makes no context.
std::optional<unsigned> CountComputeProcesses(const std::string& uuid);

/// One finding of `fa-profile doctor`.
struct Diagnosis {
  enum class Level { kOk, kWarning, kProblem };
  Level level = Level::kOk;
  std::string subject;  ///< "driver", "permission", "counters", "nvdisasm", ...
  std::string detail;   ///< what was found
  std::string cure;     ///< what to do; empty when ok
};

/// Everything that would stop or weaken a run on this machine: driver, versions, permission, another profiler holding
/// the counters (found by really taking them), NVML. Never throws for what it finds.
std::vector<Diagnosis> DiagnoseDevice(int ordinal);

}  // namespace fa_profile
