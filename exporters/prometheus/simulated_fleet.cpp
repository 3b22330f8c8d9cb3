#include "fa_profile/simulated_fleet.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "fa_profile/text.h"
#include "fa_profile/totals_sums.h"

namespace fa_profile::prom {
namespace {

constexpr double kNoise = 0.01;  // relative; half the width of a GPU's own deviation

// splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators), as a hash of where and what.
double Deviation(std::uint64_t seed) {
  seed += 0x9e3779b97f4a7c15ULL;
  seed = (seed ^ (seed >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  seed = (seed ^ (seed >> 27U)) * 0x94d049bb133111ebULL;
  seed ^= seed >> 31U;
  return 2.0 * static_cast<double>(seed >> 11U) * 0x1.0p-53 - 1.0;  // -1 .. 1
}

std::uint64_t Seed(int host, int gpu, const std::string& what) {
  return Fnv1a(what) ^ (static_cast<std::uint64_t>(host) << 32U) ^ (static_cast<std::uint64_t>(gpu) << 24U);
}

void Scale(std::optional<double>& value, double factor) {
  if (value) *value *= factor;
}

// `runs` recordings of one kernel, each call taking `slower` times as long.
KernelTotals Repeated(const KernelTotals& measured, double runs, double slower) {
  KernelTotals kernel = measured;
  for (auto& [name, shape] : kernel.shapes) {
    for (const auto& sum : kShapeSums) shape.*sum.value *= runs;
    shape.duration_sum_seconds *= slower;
    for (double& count : shape.duration_counts) count *= runs;
  }
  for (auto& [name, phase] : kernel.phases) {
    phase.cycles *= runs * slower;
    for (const auto& sum : kPhaseSums) Scale(phase.*sum.value, runs);
    for (auto& [reason, cycles] : phase.stall_cycles) cycles *= runs * slower;
  }
  for (const auto& sum : kKernelSums) Scale(kernel.*sum.value, runs);
  Scale(kernel.sm_active_cycles, slower);
  Scale(kernel.warps_active_cycles, slower);
  return kernel;
}

// Makes one phase slower in the last `runs` of the recordings that `kernel` sums up.
void SlowPhase(KernelTotals& kernel, const KernelTotals& measured, const std::string& phase, double runs) {
  const auto found = kernel.phases.find(phase);
  if (found == kernel.phases.end() || !measured.sm_active_cycles || *measured.sm_active_cycles <= 0) return;
  const double more = measured.phases.at(phase).cycles * (kChangedSlowdown - 1);
  found->second.cycles += more * runs;
  *kernel.sm_active_cycles += more * runs;
  for (auto& [name, shape] : kernel.shapes) {
    shape.duration_sum_seconds +=
        measured.shapes.at(name).duration_sum_seconds * more / *measured.sm_active_cycles * runs;
    const auto ratio = shape.phase_ratios.find(phase);
    if (runs <= 0 || ratio == shape.phase_ratios.end()) continue;
    const double longer = 1 + ratio->second * (kChangedSlowdown - 1);
    ratio->second *= kChangedSlowdown;
    for (auto& [each, share] : shape.phase_ratios) share /= longer;
  }
}

// What NVML would report. Clocks, temperature and power come from the recording; the shares of time follow from its
// cycles; the rest is an H200's.
GpuReading Simulated(GpuReading reading, const Totals::Gpu& measured, double busy, double runs, double interval) {
  double tensor = 0;
  double active = 0;
  double warps = 0;
  for (const auto& [name, kernel] : measured.kernels) {
    tensor += kernel.tensor_active_cycles.value_or(0);
    active += kernel.sm_active_cycles.value_or(0);
    warps += kernel.warps_active_cycles.value_or(0);
  }
  constexpr double kWarpsPerSm = 64;
  reading.up = true;
  reading.busy_ratio = busy;
  reading.sm_active_ratio = 0.95 * busy;
  if (active > 0) {
    reading.tensor_active_ratio = tensor / active * busy;
    reading.sm_occupancy_ratio = warps / active / kWarpsPerSm * busy;
  }
  reading.dram_active_ratio = 0.1 * busy;
  reading.power_limit_watts = 700;
  reading.energy_joules = reading.power_watts.value_or(500) * runs * interval;
  reading.memory_used_bytes = 0.2 * reading.memory_total_bytes.value_or(0);
  reading.ecc_corrected = 0;
  reading.ecc_uncorrected = 0;
  reading.xid_errors = {{13, 0}};
  return reading;
}

}  // namespace

SimulatedFleet::SimulatedFleet(int hosts, Totals measured, HostReading reading, std::string recording,
                               double interval_seconds, double started)
    : hosts_(hosts),
      measured_(std::move(measured)),
      reading_(std::move(reading)),
      recording_(std::move(recording)),
      interval_seconds_(interval_seconds),
      started_(started) {
  if (measured_.gpus.empty()) throw std::invalid_argument("a simulated fleet needs a recording with kernels");
}

std::string SimulatedFleet::HostName(int host) {
  std::array<char, 32> name{};
  (void)std::snprintf(name.data(), name.size(), "sim-host-%03d", host);
  return name.data();
}

std::optional<int> SimulatedFleet::FindHost(const std::string& name) const {
  for (int host = 0; host < hosts_; ++host) {
    if (HostName(host) == name) return host;
  }
  return std::nullopt;
}

Families SimulatedFleet::At(int host, double now, const Baseline* baseline) const {
  if (host < 0 || host >= hosts_) throw std::out_of_range("simulated host not found");
  const Totals::Gpu& measured = measured_.gpus.begin()->second;
  Totals totals;
  HostReading reading;
  reading.nvml = true;
  reading.driver_version = reading_.driver_version;
  for (int index = 0; index < kSimulatedGpusPerHost; ++index) {
    const bool outlier = host == kOutlierHost && index == kOutlierGpu;
    // GPUs do not record at the same moment.
    const double offset = 0.5 + 0.5 * Deviation(Seed(host, index, "offset"));
    const double runs = std::max(1.0, std::floor((now - started_) / interval_seconds_ + offset));
    Totals::Gpu& gpu = totals.gpus[index];
    for (const auto& [name, kernel] : measured.kernels) {
      const double slower = (outlier ? kOutlierSlowdown : 1.0) * (1 + kNoise * Deviation(Seed(host, index, name)));
      KernelTotals& copy = gpu.kernels[name];
      copy = Repeated(kernel, runs, slower);
      const auto ratio = copy.gauges.find("faprof_kernel_tensor_core_utilization_ratio");
      if (ratio != copy.gauges.end()) ratio->second /= slower;
      if (host == kChangedHost && index == kChangedGpu && name == kChangedKernel) {
        SlowPhase(copy, kernel, kChangedPhase, std::max(0.0, runs - kRecordingsBeforeChange));
      }
    }
    const double busy = 0.9 + 0.05 * Deviation(Seed(host, index, "busy") + static_cast<std::uint64_t>(now / 15));
    GpuReading device = Simulated(reading_.gpus.empty() ? GpuReading{} : reading_.gpus.front(), measured, busy, runs,
                                  interval_seconds_);
    device.index = index;
    device.uuid = "GPU-simulated-" + std::to_string(host) + "-" + std::to_string(index);
    if (device.power_watts)
      *device.power_watts *= 1 + 0.03 * Deviation(Seed(host, index, "power") + static_cast<std::uint64_t>(now / 15));
    if (outlier) device.temperature_celsius = 87;  // as hot as a GPU that is throttled for heat
    if (device.sm_clock_hz) *device.sm_clock_hz /= outlier ? kOutlierSlowdown : 1.0;
    device.throttled = {{"sw_power_cap", false}, {"hw_slowdown", false},    {"sw_thermal", outlier},
                        {"hw_thermal", false},   {"hw_power_brake", false}, {"sync_boost", false}};
    reading.gpus.push_back(std::move(device));
  }
  CollectorState collector;
  collector.up = {{"nvml", true}, {"spool", true}, {"state", true}};
  collector.last_collection = now;
  collector.last_recording = now;
  collector.recordings = {{"counted", std::floor((now - started_) / interval_seconds_) * kSimulatedGpusPerHost}};
  collector.refused_states = 0;
  collector.started = started_;
  GateState gate;
  for (const auto& [name, kernel] : measured.kernels) {
    gate.cases[name] = {"PASS", 0.005 * Deviation(Seed(host, 0, "gate " + name))};
  }
  gate.aa_trials = 60 * std::floor((now - started_) / interval_seconds_);
  const SimulationInfo simulation{hosts_, recording_};
  return MakeFamilies({&totals, &reading, baseline, &gate, &collector, &simulation});
}

std::string SimulatedFleet::Targets(const std::string& address) const {
  nlohmann::json targets = nlohmann::json::array();
  for (int host = 0; host < hosts_; ++host) {
    const std::string name = HostName(host);
    targets.push_back(
        {{"targets", {address}},
         {"labels",
          {{"instance", name}, {"__metrics_path__", "/simulated/" + name + "/metrics"}, {"simulated", "true"}}}});
  }
  return targets.dump();
}

}  // namespace fa_profile::prom
