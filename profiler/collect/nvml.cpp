#include "nvml.h"

#include <dlfcn.h>

#include <array>

namespace fa_profile::collect {
namespace {

constexpr double kMilliwattsPerWatt = 1000.0;
constexpr std::int64_t kHertzPerMegahertz = 1'000'000;

std::string Cure(nvml::Result result) {
  switch (result) {
    case nvml::kNoPermission:
      return "this user must be able to read and write /dev/nvidiactl and /dev/nvidia*";
    case nvml::kDriverNotLoaded:
      return "load the NVIDIA driver; `nvidia-smi` should list the GPUs";
    case nvml::kVersionMismatch:
      return "the driver was updated while its old kernel module stayed loaded: reboot, or reload the module; in a "
             "container, restart it";
    case nvml::kGpuIsLost:
      return "the GPU has fallen off the bus: `dmesg` has its Xid; reboot the host";
    case nvml::kResetRequired:
      return "stop what uses the GPU and run `nvidia-smi --gpu-reset`, or reboot the host";
    default:
      return {};
  }
}

}  // namespace

void* Nvml::Symbol(const char* name) const { return library_ == nullptr ? nullptr : dlsym(library_, name); }

Nvml::Nvml(const std::string& library) {
  library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    why_not_ = library + " (part of the driver) cannot be loaded";
    return;
  }
  const nvml::Result result = Call(nvml::kInit);
  if (result == nvml::kSuccess) return;
  why_not_ = Explain(nvml::kInit.name, result);
  dlclose(library_);
  library_ = nullptr;
}

Nvml::~Nvml() {
  if (library_ == nullptr) return;
  (void)Call(nvml::kShutdown);
  dlclose(library_);
}

std::string Nvml::Explain(const std::string& what, nvml::Result result) const {
  auto* const text = reinterpret_cast<const char* (*)(nvml::Result)>(Symbol(nvml::kErrorString.name));
  std::string explained =
      what + ": " + (text != nullptr ? text(result) : "error") + " (" + std::to_string(result) + ")";
  if (const std::string cure = Cure(result); !cure.empty()) explained.append("; ").append(cure);
  return explained;
}

std::optional<std::string> Nvml::DriverVersion() const {
  std::array<char, 96> text{};
  if (Call(nvml::kDriverVersion, text.data(), static_cast<unsigned>(text.size())) != nvml::kSuccess)
    return std::nullopt;
  return std::string(text.data());
}

std::optional<nvml::Device> Nvml::Find(const std::string& uuid) const {
  nvml::Device device = nullptr;
  if (Call(nvml::kHandleByUuid, uuid.c_str(), &device) != nvml::kSuccess) return std::nullopt;
  return device;
}

nvml::Result NvmlGpu::Note(nvml::Result result) {
  if (result == nvml::kGpuIsLost || result == nvml::kResetRequired) trouble_ = result;
  return result;
}

std::optional<std::string> NvmlGpu::GetText(nvml::Function<nvml::Result(nvml::Device, char*, unsigned)> function) {
  std::array<char, 128> text{};  // NVML's longest string, a name, has 96
  if (Note(nvml_.Call(function, device_, text.data(), static_cast<unsigned>(text.size()))) != nvml::kSuccess) {
    return std::nullopt;
  }
  return std::string(text.data());
}

std::optional<std::int64_t> NvmlGpu::ClockHz(nvml::Function<nvml::Result(nvml::Device, unsigned, unsigned*)> function,
                                             unsigned clock) {
  const std::optional<unsigned> megahertz = Get<unsigned>(function, clock);
  if (!megahertz) return std::nullopt;
  return *megahertz * kHertzPerMegahertz;
}

std::optional<double> NvmlGpu::TemperatureCelsius() { return Get<unsigned>(nvml::kTemperature, nvml::kTemperatureGpu); }

std::optional<double> NvmlGpu::PowerWatts(nvml::Function<nvml::Result(nvml::Device, unsigned*)> function) {
  const std::optional<unsigned> milliwatts = Get<unsigned>(function);
  if (!milliwatts) return std::nullopt;
  return *milliwatts / kMilliwattsPerWatt;
}

std::optional<std::uint64_t> NvmlGpu::ThrottleReasons() {
  std::optional<unsigned long long> reasons = Get<unsigned long long>(nvml::kEventReasons);
  if (!reasons) reasons = Get<unsigned long long>(nvml::kThrottleReasons);
  return reasons;
}

std::optional<unsigned> NvmlGpu::ComputeProcesses() {
  unsigned count = 0;  // asking with no room returns the count
  const nvml::Result result = Note(nvml_.Call(nvml::kComputeProcesses, device_, &count, nullptr));
  if (result != nvml::kSuccess && result != nvml::kInsufficientSize) return std::nullopt;
  return count;
}

}  // namespace fa_profile::collect
