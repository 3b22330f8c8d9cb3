#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace fa_profile {

/// NVML, opened at run time (libnvidia-ml.so.1 comes with the driver, so a program must start without it). Every
/// answer that NVML does not give is absent. Move-only owner; the destructor shuts NVML down.
class Nvml {
 public:
  Nvml();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool available() const { return library_ != nullptr; }
  /// Why it is not available; empty when it is.
  const std::string& why_not() const { return why_not_; }

  std::optional<std::string> DriverVersion() const;

  struct State {
    std::optional<std::int64_t> sm_hz;
    std::optional<std::int64_t> memory_hz;
    std::optional<double> temperature_celsius;
    std::optional<double> power_watts;
    std::optional<std::uint64_t> throttle_reasons;
  };
  /// `uuid` as "GPU-...".
  State Read(const std::string& uuid) const;

  /// Processes with a compute context on the GPU, this one included.
  std::optional<unsigned> ComputeProcesses(const std::string& uuid) const;

 private:
  template <typename Function>
  Function Symbol(const char* name) const;
  void* Handle(const std::string& uuid) const;

  void* library_ = nullptr;
  std::string why_not_;
};

}  // namespace fa_profile
