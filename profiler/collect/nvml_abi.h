#pragma once

#include <array>
#include <type_traits>

/// The part of NVML's stable ABI that is used here, under NVML's names in our spelling: the toolkit packages of several
/// distributions lack nvml.h, and nothing links NVML. Each function has its exported name and its signature.
namespace fa_profile::collect::nvml {

using Device = struct DeviceTag*;
using EventSet = struct EventSetTag*;
using GpmSample = struct GpmSampleTag*;

using Result = int;
inline constexpr Result kSuccess = 0;
inline constexpr Result kInvalidArgument = 2;
inline constexpr Result kNotSupported = 3;
inline constexpr Result kNoPermission = 4;
inline constexpr Result kInsufficientSize = 7;
inline constexpr Result kDriverNotLoaded = 9;
inline constexpr Result kTimeout = 10;
inline constexpr Result kFunctionNotFound = 13;
inline constexpr Result kGpuIsLost = 15;
inline constexpr Result kResetRequired = 16;
inline constexpr Result kVersionMismatch = 18;  ///< the library's version is not the kernel module's

inline constexpr unsigned kClockSm = 1;
inline constexpr unsigned kClockMemory = 2;
inline constexpr unsigned kTemperatureGpu = 0;
inline constexpr unsigned kEccCorrected = 0;
inline constexpr unsigned kEccUncorrected = 1;
inline constexpr unsigned kEccVolatile = 0;  ///< since the driver was loaded
inline constexpr unsigned kMigEnabled = 1;
inline constexpr unsigned long long kEventXid = 0x8;

/// A reason for lowered clocks, among those of kEventReasons. Idle clocks and an application's own do not count.
struct Throttle {
  unsigned long long bit;
  const char* id;     ///< in metrics
  const char* words;  ///< in reports
};
inline constexpr std::array kThrottles = {
    Throttle{0x4, "sw_power_cap", "power cap"},
    Throttle{0x8, "hw_slowdown", "hardware slowdown"},
    Throttle{0x10, "sync_boost", "sync boost"},
    Throttle{0x20, "sw_thermal", "software thermal slowdown"},
    Throttle{0x40, "hw_thermal", "hardware thermal slowdown"},
    Throttle{0x80, "hw_power_brake", "hardware power brake"},
};

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
struct Utilization {
  unsigned gpu;     ///< percent of time with a kernel running
  unsigned memory;  ///< percent
};
struct EventData {
  Device device;
  unsigned long long type;
  unsigned long long data;  ///< the Xid
  unsigned gpu_instance;
  unsigned compute_instance;
};

inline constexpr unsigned kGpmVersion = 1;
inline constexpr unsigned kGpmSmUtil = 2;
inline constexpr unsigned kGpmSmOccupancy = 3;
inline constexpr unsigned kGpmAnyTensorUtil = 5;
inline constexpr unsigned kGpmDramBandwidthUtil = 10;
struct GpmSupport {
  unsigned version;
  unsigned supported;
};
struct GpmMetric {
  unsigned id;
  Result result;
  double value;
  std::array<const char*, 3> names;
};
struct GpmMetrics {
  unsigned version;
  unsigned count;
  GpmSample from;
  GpmSample to;
  std::array<GpmMetric, 512> metrics;  ///< at least as many as the newest NVML declares (477 in CUDA 13.5)
};

/// An exported function. C enumerations are passed as unsigned.
template <typename Signature>
struct Function {
  const char* name;
};

inline constexpr Function<Result()> kInit{"nvmlInit_v2"};
inline constexpr Function<Result()> kShutdown{"nvmlShutdown"};
inline constexpr Function<const char*(Result)> kErrorString{"nvmlErrorString"};
inline constexpr Function<Result(char*, unsigned)> kDriverVersion{"nvmlSystemGetDriverVersion"};
inline constexpr Function<Result(unsigned*)> kDeviceCount{"nvmlDeviceGetCount_v2"};
inline constexpr Function<Result(unsigned, Device*)> kHandleByIndex{"nvmlDeviceGetHandleByIndex_v2"};
inline constexpr Function<Result(const char*, Device*)> kHandleByUuid{"nvmlDeviceGetHandleByUUID"};
inline constexpr Function<Result(Device, char*, unsigned)> kName{"nvmlDeviceGetName"};
inline constexpr Function<Result(Device, char*, unsigned)> kUuid{"nvmlDeviceGetUUID"};
inline constexpr Function<Result(Device, int*, int*)> kComputeCapability{"nvmlDeviceGetCudaComputeCapability"};
inline constexpr Function<Result(Device, unsigned, unsigned*)> kClock{"nvmlDeviceGetClockInfo"};        // MHz
inline constexpr Function<Result(Device, unsigned, unsigned*)> kMaxClock{"nvmlDeviceGetMaxClockInfo"};  // MHz
inline constexpr Function<Result(Device, unsigned, unsigned*)> kTemperature{"nvmlDeviceGetTemperature"};
inline constexpr Function<Result(Device, unsigned*)> kPower{"nvmlDeviceGetPowerUsage"};                         // mW
inline constexpr Function<Result(Device, unsigned*)> kPowerLimit{"nvmlDeviceGetEnforcedPowerLimit"};            // mW
inline constexpr Function<Result(Device, unsigned long long*)> kEnergy{"nvmlDeviceGetTotalEnergyConsumption"};  // mJ
inline constexpr Function<Result(Device, Memory*)> kMemory{"nvmlDeviceGetMemoryInfo"};
inline constexpr Function<Result(Device, Utilization*)> kUtilization{"nvmlDeviceGetUtilizationRates"};
inline constexpr Function<Result(Device, unsigned long long*)> kEventReasons{"nvmlDeviceGetCurrentClocksEventReasons"};
/// The previous name until driver 535.
inline constexpr Function<Result(Device, unsigned long long*)> kThrottleReasons{
    "nvmlDeviceGetCurrentClocksThrottleReasons"};
inline constexpr Function<Result(Device, unsigned, unsigned, unsigned long long*)> kEccErrors{
    "nvmlDeviceGetTotalEccErrors"};
inline constexpr Function<Result(Device, unsigned*, unsigned*)> kMigMode{"nvmlDeviceGetMigMode"};
inline constexpr Function<Result(Device, unsigned*, void*)> kComputeProcesses{
    "nvmlDeviceGetComputeRunningProcesses_v3"};
inline constexpr Function<Result(EventSet*)> kEventSetCreate{"nvmlEventSetCreate"};
inline constexpr Function<Result(EventSet)> kEventSetFree{"nvmlEventSetFree"};
inline constexpr Function<Result(Device, unsigned long long, EventSet)> kRegisterEvents{"nvmlDeviceRegisterEvents"};
inline constexpr Function<Result(EventSet, EventData*, unsigned)> kEventSetWait{"nvmlEventSetWait_v2"};
inline constexpr Function<Result(Device, GpmSupport*)> kGpmSupport{"nvmlGpmQueryDeviceSupport"};
inline constexpr Function<Result(GpmSample*)> kGpmSampleAlloc{"nvmlGpmSampleAlloc"};
inline constexpr Function<Result(GpmSample)> kGpmSampleFree{"nvmlGpmSampleFree"};
inline constexpr Function<Result(Device, GpmSample)> kGpmSampleGet{"nvmlGpmSampleGet"};
inline constexpr Function<Result(GpmMetrics*)> kGpmMetricsGet{"nvmlGpmMetricsGet"};

}  // namespace fa_profile::collect::nvml
