#include "fa_profile/device.h"

#include <cuda_runtime_api.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>
#include <cupti_version.h>

#include <array>
#include <cstdio>
#include <memory>

#include "check_cupti.h"
#include "cuda_api.h"
#include "cupti_library.h"
#include "cupti_objects.h"
#include "fa_profile/counter_lock.h"
#include "fa_profile/counter_session.h"
#include "fa_profile/error.h"
#include "fa_profile/metric_host.h"
#include "fa_profile/profiler_use.h"
#include "nvml.h"

namespace fa_profile::collect {
namespace {

std::string FormatUuid(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof(uuid.bytes); ++i) {
    std::array<char, 3> hex{};
    std::snprintf(hex.data(), hex.size(), "%02x", static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
    text += hex.data();
    if (i == 3 || i == 5 || i == 7 || i == 9) text += '-';
  }
  return text;
}

// CUDA writes 13000 for 13.0.
std::string FormatCudaVersion(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::int64_t Attribute(cudaDeviceAttr attribute, int ordinal) {
  int value = 0;
  CheckCuda(cudaDeviceGetAttribute(&value, attribute, ordinal), "cudaDeviceGetAttribute");
  return value;
}

// Crashes if CUPTI was not used before: initialised, or subscribed to.
std::string ChipName(int ordinal) {
  const auto params = CallCupti(
      cuptiDeviceGetChipName, "cuptiDeviceGetChipName",
      {.structSize = CUpti_Device_GetChipName_Params_STRUCT_SIZE, .deviceIndex = static_cast<std::size_t>(ordinal)});
  return params.pChipName;
}

Diagnosis Ok(std::string subject, std::string detail) {
  return {Diagnosis::Level::kOk, std::move(subject), std::move(detail), {}};
}

Diagnosis Warn(std::string subject, std::string detail, std::string cure) {
  return {Diagnosis::Level::kWarning, std::move(subject), std::move(detail), std::move(cure)};
}

// Really takes the counters: only then do permission and another profiler show.
Diagnosis DiagnoseCounters(const Device& device) {
  try {
    const std::vector<std::string> metrics = {"sm__cycles_active.avg"};
    const MetricPlan plan = PlanMetrics(device.chip, metrics);
    const std::unique_ptr<RangeProfiler> profiler = OpenRangeProfiler(CurrentContext());
    (void)RunPasses(*profiler, plan, {{"doctor", [] {}, [] {}}});
    return Ok("counters", "hardware counters can be read");
  } catch (const Error& error) {
    return {Diagnosis::Level::kProblem, "counters", error.api() + " " + error.code() + " " + error.message(),
            error.hint().empty() ? "see the CUPTI documentation for this code" : error.hint()};
  }
}

Device ReadDevice(int ordinal, bool counters) {
  cudaDeviceProp properties{};
  CheckCuda(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");

  Device device;
  device.ordinal = ordinal;
  device.name = properties.name;
  device.uuid = FormatUuid(properties.uuid);
  device.compute_capability_major = properties.major;
  device.compute_capability_minor = properties.minor;
  if (properties.major < 7) {
    throw Error(device.name + " has compute capability " + std::to_string(properties.major) + "." +
                    std::to_string(properties.minor),
                "CUPTI's range profiler needs 7.0 or newer");
  }
  device.sm_count = properties.multiProcessorCount;
  device.warp_size = properties.warpSize;
  device.max_threads_per_sm = properties.maxThreadsPerMultiProcessor;
  device.max_blocks_per_sm = properties.maxBlocksPerMultiProcessor;
  device.registers_per_sm = properties.regsPerMultiprocessor;
  device.shared_memory_per_sm_bytes = static_cast<std::int64_t>(properties.sharedMemPerMultiprocessor);
  device.shared_memory_per_block_optin_bytes = static_cast<std::int64_t>(properties.sharedMemPerBlockOptin);
  device.reserved_shared_memory_per_block_bytes = static_cast<std::int64_t>(properties.reservedSharedMemPerBlock);
  device.l2_bytes = properties.l2CacheSize;
  device.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  constexpr std::int64_t kHertzPerKilohertz = 1000;
  device.sm_clock_max_hz = Attribute(cudaDevAttrClockRate, ordinal) * kHertzPerKilohertz;
  device.memory_clock_max_hz = Attribute(cudaDevAttrMemoryClockRate, ordinal) * kHertzPerKilohertz;
  device.memory_bus_width_bits = properties.memoryBusWidth;

  int version = 0;
  CheckCuda(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
  device.cuda_driver_version = FormatCudaVersion(version);
  CheckCuda(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
  device.cuda_runtime_version = FormatCudaVersion(version);
  if (counters) {
    device.chip = ChipName(ordinal);
    std::uint32_t cupti_version = 0;
    CheckCupti(cuptiGetVersion(&cupti_version), "cuptiGetVersion");
    device.cupti_version = std::to_string(cupti_version);
  }
  device.driver_version = Nvml().DriverVersion().value_or("");
  return device;
}

}  // namespace

int DeviceCount() noexcept {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

std::string WhyNoDevice() {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result == cudaSuccess) return count > 0 ? "" : "the driver lists no GPU";
  if (result == cudaErrorInsufficientDriver) {
    std::error_code ignored;
    const bool has_driver = std::filesystem::exists("/proc/driver/nvidia/version", ignored) ||
                            std::filesystem::exists("/dev/dxg", ignored);  // WSL
    return has_driver ? "the NVIDIA driver is older than CUDA 13 needs" : "no NVIDIA driver";
  }
  return cudaGetErrorString(result);
}

Device OpenDevice(int ordinal, bool counters) {
  const int count = DeviceCount();
  if (count == 0) throw Error("no GPU: " + WhyNoDevice(), "`nvidia-smi` should list one");
  if (ordinal < 0 || ordinal >= count) {
    throw Error("there is no device " + std::to_string(ordinal), "give --device 0 to " + std::to_string(count - 1));
  }
  CheckCuda(cudaSetDevice(ordinal), "cudaSetDevice");
  CheckCuda(cudaFree(nullptr), "cudaFree");  // creates the primary context
  if (counters) ProfilerUse::Keep();
  return ReadDevice(ordinal, counters);
}

Device OpenCurrentDevice() {
  int ordinal = 0;
  CheckCuda(cudaGetDevice(&ordinal), "cudaGetDevice");
  return ReadDevice(ordinal, /*counters=*/true);
}

void ReleaseDevice() {
  CheckCuda(cudaDeviceReset(), "cudaDeviceReset");
  GiveCountersBack();
}

bool DeviceStillWorks() noexcept { return cudaDeviceSynchronize() == cudaSuccess; }

ClockSample ReadClocks(const Device& device, const std::string& when, std::vector<DataLoss>& losses) {
  const Nvml nvml;
  ClockSample sample;
  sample.when = when;
  if (!nvml.available()) {
    losses.push_back({"nvml", "clocks " + when, nvml.why_not(), 1});
    return sample;
  }
  if (const std::optional<nvml::Device> handle = nvml.Find(device.uuid)) {
    NvmlGpu gpu(nvml, *handle);
    sample.sm_hz = gpu.ClockHz(nvml::kClock, nvml::kClockSm);
    sample.memory_hz = gpu.ClockHz(nvml::kClock, nvml::kClockMemory);
    sample.temperature_celsius = gpu.TemperatureCelsius();
    sample.power_watts = gpu.PowerWatts(nvml::kPower);
    sample.throttle_reasons = gpu.ThrottleReasons();
  }
  if (!sample.sm_hz) losses.push_back({"nvml", "clocks " + when, "NVML did not answer for " + device.uuid, 1});
  return sample;
}

std::optional<unsigned> CountComputeProcesses(const std::string& uuid) {
  const Nvml nvml;
  const std::optional<nvml::Device> handle = nvml.Find(uuid);
  return handle ? NvmlGpu(nvml, *handle).ComputeProcesses() : std::nullopt;
}

std::vector<Diagnosis> DiagnoseDevice(int ordinal) {
  std::vector<Diagnosis> found;
  found.push_back(CuptiIsThere()
                      ? Ok("CUPTI", "found: " + CuptiPath())
                      : Diagnosis{Diagnosis::Level::kProblem, "CUPTI", CuptiLibraryName() + " is missing", kCuptiCure});
  Device device;
  try {
    device = OpenDevice(ordinal);
  } catch (const Error& error) {
    found.push_back(
        {Diagnosis::Level::kProblem, "GPU", error.message(), error.hint() + "; reports from recordings work without"});
    return found;
  }
  found.push_back(Ok("GPU", device.name + " (" + device.chip + "), compute capability " +
                                std::to_string(device.compute_capability_major) + "." +
                                std::to_string(device.compute_capability_minor)));
  found.push_back(Ok("versions", "driver " + (device.driver_version.empty() ? "unknown" : device.driver_version) +
                                     " (CUDA " + device.cuda_driver_version + "), runtime " +
                                     device.cuda_runtime_version + ", CUPTI " + device.cupti_version));
  if (std::stod(device.cuda_driver_version) < std::stod(device.cuda_runtime_version)) {
    found.push_back(Warn("versions", "the driver is older than the CUDA runtime",
                         "update the driver, or build with the toolkit of the driver's version"));
  }
  found.push_back(DiagnoseCounters(device));
  if (const Nvml nvml; !nvml.available()) {
    found.push_back(Warn("NVML", nvml.why_not(), "without it recordings lack clocks, power and throttling"));
  } else if (const unsigned processes = CountComputeProcesses(device.uuid).value_or(1); processes > 1) {
    found.push_back(Warn("other work", std::to_string(processes) + " processes use this GPU",
                         "stop them: counters of device-wide units and durations will include their work"));
  }
  return found;
}

}  // namespace fa_profile::collect
