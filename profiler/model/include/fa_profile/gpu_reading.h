#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fa_profile {

/// NVML's data about one GPU at one moment. Values that it does not answer are absent; counts start when the driver was
/// loaded unless stated otherwise.
struct GpuReading {
  int index = 0;                   ///< NVML's
  bool up = false;                 ///< it answered
  std::string error;               ///< why it did not, with the cure; empty when it did
  std::string uuid;                ///< "GPU-..."
  std::string name;                ///< "NVIDIA H200"
  std::string compute_capability;  ///< "9.0"; empty when unknown
  std::optional<double> sm_clock_hz;
  std::optional<double> sm_clock_max_hz;
  std::optional<double> memory_clock_hz;
  std::optional<double> power_watts;
  std::optional<double> power_limit_watts;
  std::optional<double> energy_joules;
  std::optional<double> temperature_celsius;
  std::optional<double> memory_used_bytes;
  std::optional<double> memory_total_bytes;
  std::optional<double> busy_ratio;
  std::map<std::string, bool> throttled;  ///< by reason, all six or none: "sw_power_cap", "hw_slowdown", "sw_thermal",
                                          ///< "hw_thermal", "hw_power_brake", "sync_boost"
  std::optional<std::uint64_t> ecc_corrected;
  std::optional<std::uint64_t> ecc_uncorrected;
  std::map<std::uint64_t, std::uint64_t> xid_errors;  ///< Xid -> times seen since the monitor was made
  // From GPM, over the time since the previous reading: 0..1. Absent in the first reading and before Hopper.
  std::optional<double> sm_active_ratio;
  std::optional<double> sm_occupancy_ratio;
  std::optional<double> tensor_active_ratio;
  std::optional<double> dram_active_ratio;
};

/// NVML's data about a host.
struct HostReading {
  bool nvml = false;       ///< NVML could be opened and lists its GPUs
  std::string nvml_error;  ///< why not, with the cure; empty when it could
  bool gpm = false;        ///< at least one GPU gave GPM samples
  std::string gpm_error;   ///< which GPUs gave none and why; empty if all did
  std::string driver_version;
  std::vector<GpuReading> gpus;  ///< by index
};

}  // namespace fa_profile
