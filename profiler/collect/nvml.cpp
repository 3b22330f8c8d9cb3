#include "nvml.h"

#include <dlfcn.h>

#include <array>

namespace fa_profile {
namespace {

// The few declarations used, from NVML's stable ABI: the toolkit packages of several distributions lack nvml.h.
using Result = int;  // NVML_SUCCESS is 0
constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;
constexpr int kTemperatureGpu = 0;
constexpr Result kInsufficientSize = 7;

using Init = Result (*)();
using Shutdown = Result (*)();
using GetHandleByUuid = Result (*)(const char*, void**);
using GetClock = Result (*)(void*, int, unsigned*);
using GetTemperature = Result (*)(void*, int, unsigned*);
using GetPower = Result (*)(void*, unsigned*);
using GetReasons = Result (*)(void*, unsigned long long*);
using GetDriverVersion = Result (*)(char*, unsigned);
using GetProcesses = Result (*)(void*, unsigned*, void*);

constexpr double kMilliwattsPerWatt = 1000.0;
constexpr std::int64_t kHertzPerMegahertz = 1'000'000;

}  // namespace

template <typename Function>
Function Nvml::Symbol(const char* name) const {
  return library_ == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library_, name));
}

Nvml::Nvml() {
  library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    why_not_ = "libnvidia-ml.so.1 (part of the driver) cannot be loaded";
    return;
  }
  const auto init = Symbol<Init>("nvmlInit_v2");
  const Result result = init != nullptr ? init() : -1;
  if (result != 0) {
    why_not_ = "nvmlInit_v2 returned " + std::to_string(result);
    dlclose(library_);
    library_ = nullptr;
  }
}

Nvml::~Nvml() {
  if (library_ == nullptr) return;
  if (const auto shutdown = Symbol<Shutdown>("nvmlShutdown")) (void)shutdown();
  dlclose(library_);
}

std::optional<std::string> Nvml::DriverVersion() const {
  const auto get = Symbol<GetDriverVersion>("nvmlSystemGetDriverVersion");
  std::array<char, 96> text{};
  if (get == nullptr || get(text.data(), static_cast<unsigned>(text.size())) != 0) return std::nullopt;
  return std::string(text.data());
}

void* Nvml::Handle(const std::string& uuid) const {
  const auto get = Symbol<GetHandleByUuid>("nvmlDeviceGetHandleByUUID");
  void* handle = nullptr;
  if (get == nullptr || get(uuid.c_str(), &handle) != 0) return nullptr;
  return handle;
}

Nvml::State Nvml::Read(const std::string& uuid) const {
  State state;
  void* const handle = Handle(uuid);
  if (handle == nullptr) return state;
  unsigned value = 0;
  if (const auto get = Symbol<GetClock>("nvmlDeviceGetClockInfo")) {
    if (get(handle, kClockSm, &value) == 0) state.sm_hz = value * kHertzPerMegahertz;
    if (get(handle, kClockMemory, &value) == 0) state.memory_hz = value * kHertzPerMegahertz;
  }
  if (const auto get = Symbol<GetTemperature>("nvmlDeviceGetTemperature")) {
    if (get(handle, kTemperatureGpu, &value) == 0) state.temperature_celsius = value;
  }
  if (const auto get = Symbol<GetPower>("nvmlDeviceGetPowerUsage")) {
    if (get(handle, &value) == 0) state.power_watts = value / kMilliwattsPerWatt;
  }
  unsigned long long reasons = 0;
  auto get_reasons = Symbol<GetReasons>("nvmlDeviceGetCurrentClocksEventReasons");
  if (get_reasons == nullptr) get_reasons = Symbol<GetReasons>("nvmlDeviceGetCurrentClocksThrottleReasons");
  if (get_reasons != nullptr && get_reasons(handle, &reasons) == 0) state.throttle_reasons = reasons;
  return state;
}

std::optional<unsigned> Nvml::ComputeProcesses(const std::string& uuid) const {
  void* const handle = Handle(uuid);
  const auto get = Symbol<GetProcesses>("nvmlDeviceGetComputeRunningProcesses_v3");
  if (handle == nullptr || get == nullptr) return std::nullopt;
  unsigned count = 0;  // asking with no room answers with the count
  const Result result = get(handle, &count, nullptr);
  if (result != 0 && result != kInsufficientSize) return std::nullopt;
  return count;
}

}  // namespace fa_profile
