#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "nvml_abi.h"

namespace fa_profile::collect {

/// NVML, opened at run time (libnvidia-ml.so.1 comes with the driver, so a program must start without it). Answers that
/// NVML does not give are absent. The destructor shuts NVML down. One thread.
class Nvml {
 public:
  explicit Nvml(const std::string& library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool available() const { return library_ != nullptr; }
  /// Why it is not available, with the cure; empty when it is.
  const std::string& why_not() const { return why_not_; }

  /// NVML's own answer; kFunctionNotFound when this NVML has no such function.
  template <typename... Parameters>
  nvml::Result Call(nvml::Function<nvml::Result(Parameters...)> function,
                    std::type_identity_t<Parameters>... arguments) const {
    auto* const call = reinterpret_cast<nvml::Result (*)(Parameters...)>(Symbol(function.name));
    return call == nullptr ? nvml::kFunctionNotFound : call(arguments...);
  }

  /// "nvmlInit_v2: Driver/library version mismatch (18): reboot, or ...": what failed, NVML's words, the cure.
  std::string Explain(const std::string& what, nvml::Result result) const;

  std::optional<std::string> DriverVersion() const;
  /// `uuid` as "GPU-...".
  std::optional<nvml::Device> Find(const std::string& uuid) const;

 private:
  void* Symbol(const char* name) const;

  void* library_ = nullptr;
  std::string why_not_;
};

/// Queries of one GPU. Values that it does not answer are absent; trouble() reports that the GPU is lost.
class NvmlGpu {
 public:
  /// `nvml` outlives this.
  NvmlGpu(const Nvml& nvml, nvml::Device device) : nvml_(nvml), device_(device) {}

  const Nvml& nvml() const { return nvml_; }
  nvml::Device device() const { return device_; }
  /// kGpuIsLost or kResetRequired if an answer was one of those; otherwise kSuccess.
  nvml::Result trouble() const { return trouble_; }

  /// The answer to a question with one answer: Get<unsigned>(nvml::kClock, nvml::kClockSm).
  template <typename Answer, typename Signature, typename... Arguments>
  std::optional<Answer> Get(nvml::Function<Signature> function, Arguments... arguments) {
    Answer answer{};
    if (Note(nvml_.Call(function, device_, arguments..., &answer)) != nvml::kSuccess) return std::nullopt;
    return answer;
  }
  std::optional<std::string> GetText(nvml::Function<nvml::Result(nvml::Device, char*, unsigned)> function);

  std::optional<std::int64_t> ClockHz(nvml::Function<nvml::Result(nvml::Device, unsigned, unsigned*)> function,
                                      unsigned clock);
  std::optional<double> TemperatureCelsius();
  std::optional<double> PowerWatts(nvml::Function<nvml::Result(nvml::Device, unsigned*)> function);
  std::optional<std::uint64_t> ThrottleReasons();
  /// Processes with a compute context on the GPU, this one included.
  std::optional<unsigned> ComputeProcesses();

  /// Passes `result` on, and remembers it when it means that the GPU is gone.
  nvml::Result Note(nvml::Result result);

 private:
  const Nvml& nvml_;
  nvml::Device device_;
  nvml::Result trouble_ = nvml::kSuccess;
};

}  // namespace fa_profile::collect
