#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace fa_profile::top {

/// GPU labels in the order of their numbers.
struct GpuOrder {
  bool operator()(const std::string& a, const std::string& b) const {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  }
};

/// What a page says of a GPU. Absent: it does not say it.
struct TopGpu {
  std::string name;
  std::optional<double> up;
  std::optional<double> busy_ratio;
  std::optional<double> sm_active_ratio;
  std::optional<double> tensor_ratio;
  std::optional<double> dram_ratio;
  std::optional<double> power_watts;
  std::optional<double> power_limit_watts;
  std::optional<double> temperature_celsius;
  std::optional<double> sm_clock_hz;
  std::optional<double> memory_used_bytes;
  std::optional<double> memory_total_bytes;
  std::set<std::string> throttled;  ///< reasons
  double xid_errors = 0;
  double uncorrected_ecc_errors = 0;
};

struct TopPhase {
  double cycles = 0;
  std::map<std::string, double> stall_cycles;  ///< by group of reasons
};

/// What a page says of a kernel on a GPU: sums since its counters began, and gauges of the newest recording.
struct TopKernel {
  double seconds = 0;
  double timed = 0;  ///< calls that `seconds` is the sum of
  double launches = 0;
  std::optional<double> tensor_ratio;
  std::optional<double> occupancy_ratio;
  bool incorrect = false;
  std::map<std::string, TopPhase> phases;
};

using TopKey = std::pair<std::string, std::string>;  ///< the labels gpu and kernel

/// A page of fa-profile serve.
struct TopPage {
  std::map<std::string, TopGpu, GpuOrder> gpus;
  std::map<TopKey, TopKernel> kernels;
  std::string version;  ///< of the server
  bool simulated = false;
  double counted = 0;                           ///< recordings
  double bad = 0;                               ///< recordings that could not be read
  std::optional<double> recording_age_seconds;  ///< of the newest, when the page was made
  std::set<std::string> down;                   ///< collectors that do not work: "nvml"
};

/// Throws Error: not a page of metrics, or one without any of fa-profile's. Families that it does not know, and values
/// that are not finite, are passed over.
TopPage ReadTopPage(std::string_view text);

/// GPU time between two pages, by kernel, and cycles by phase. A counter that fell began anew: what it has now is what
/// it gained. Kernels without a gain are absent.
struct TopGain {
  std::map<TopKey, double> seconds;
  std::map<TopKey, std::map<std::string, double>> phase_cycles;
};
TopGain GainBetween(const TopPage& before, const TopPage& now);

}  // namespace fa_profile::top
