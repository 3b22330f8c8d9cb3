#include "fa_profile/top_page.h"

#include <cmath>
#include <functional>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/metrics_text.h"

namespace fa_profile::top {
namespace {

using Taker = std::function<void(TopPage&, const MetricSample&)>;

TopGpu& GpuOf(TopPage& page, const MetricSample& sample) { return page.gpus[sample.Label("gpu")]; }
TopKernel& KernelOf(TopPage& page, const MetricSample& sample) {
  return page.kernels[{sample.Label("gpu"), sample.Label("kernel")}];
}
TopPhase& PhaseOf(TopPage& page, const MetricSample& sample) {
  return KernelOf(page, sample).phases[sample.Label("phase")];
}

Taker OfGpu(std::optional<double> TopGpu::*value) {
  return [value](TopPage& page, const MetricSample& sample) { GpuOf(page, sample).*value = sample.value; };
}
Taker OfKernel(std::optional<double> TopKernel::*value) {
  return [value](TopPage& page, const MetricSample& sample) { KernelOf(page, sample).*value = sample.value; };
}
Taker AddToKernel(double TopKernel::*value) {
  return [value](TopPage& page, const MetricSample& sample) { KernelOf(page, sample).*value += sample.value; };
}

/// The families that are shown.
const std::map<std::string, Taker, std::less<>>& Takers() {
  static const std::map<std::string, Taker, std::less<>> kTakers{
      {"faprof_gpu_info", [](TopPage& page, const MetricSample& s) { GpuOf(page, s).name = s.Label("name"); }},
      {"faprof_device_up", OfGpu(&TopGpu::up)},
      {"faprof_device_busy_ratio", OfGpu(&TopGpu::busy_ratio)},
      {"faprof_device_sm_active_ratio", OfGpu(&TopGpu::sm_active_ratio)},
      {"faprof_device_tensor_active_ratio", OfGpu(&TopGpu::tensor_ratio)},
      {"faprof_device_dram_active_ratio", OfGpu(&TopGpu::dram_ratio)},
      {"faprof_device_power_watts", OfGpu(&TopGpu::power_watts)},
      {"faprof_device_power_limit_watts", OfGpu(&TopGpu::power_limit_watts)},
      {"faprof_device_temperature_celsius", OfGpu(&TopGpu::temperature_celsius)},
      {"faprof_device_sm_clock_hertz", OfGpu(&TopGpu::sm_clock_hz)},
      {"faprof_device_memory_used_bytes", OfGpu(&TopGpu::memory_used_bytes)},
      {"faprof_device_memory_total_bytes", OfGpu(&TopGpu::memory_total_bytes)},
      {"faprof_device_throttled",
       [](TopPage& page, const MetricSample& s) {
         if (s.value > 0) GpuOf(page, s).throttled.insert(s.Label("reason"));
       }},
      {"faprof_device_xid_errors_total",
       [](TopPage& page, const MetricSample& s) { GpuOf(page, s).xid_errors += s.value; }},
      {"faprof_device_ecc_errors_total",
       [](TopPage& page, const MetricSample& s) {
         if (s.Label("kind") == "uncorrected") GpuOf(page, s).uncorrected_ecc_errors += s.value;
       }},
      {"faprof_kernel_duration_seconds_sum", AddToKernel(&TopKernel::seconds)},
      {"faprof_kernel_duration_seconds_count", AddToKernel(&TopKernel::timed)},
      {"faprof_kernel_launches_total", AddToKernel(&TopKernel::launches)},
      {"faprof_kernel_tensor_core_utilization_ratio", OfKernel(&TopKernel::tensor_ratio)},
      {"faprof_kernel_achieved_occupancy_ratio", OfKernel(&TopKernel::occupancy_ratio)},
      {"faprof_kernel_correct",
       [](TopPage& page, const MetricSample& s) { KernelOf(page, s).incorrect = s.value == 0.0; }},
      {"faprof_phase_cycles_total", [](TopPage& page, const MetricSample& s) { PhaseOf(page, s).cycles += s.value; }},
      {"faprof_phase_stall_cycles_total",
       [](TopPage& page, const MetricSample& s) { PhaseOf(page, s).stall_cycles[s.Label("reason")] += s.value; }},
      {"faprof_build_info", [](TopPage& page, const MetricSample& s) { page.version = s.Label("version"); }},
      {"faprof_simulation_info", [](TopPage& page, const MetricSample&) { page.simulated = true; }},
      {"faprof_exporter_recordings_total",
       [](TopPage& page, const MetricSample& s) {
         if (s.Label("result") == "counted") page.counted = s.value;
         if (s.Label("result") == "bad") page.bad = s.value;
       }},
      {"faprof_exporter_up",
       [](TopPage& page, const MetricSample& s) {
         if (s.value == 0.0) page.down.insert(s.Label("collector"));
       }},
  };
  return kTakers;
}

double Gained(double before, double now) { return now < before ? now : now - before; }

}  // namespace

TopPage ReadTopPage(std::string_view text) {
  TopPage page;
  bool ours = false;
  std::optional<double> collected;
  std::optional<double> recorded;
  ReadMetricsText(text, [&](const MetricSample& sample) {
    if (!sample.name.starts_with("faprof_")) return;
    ours = true;
    if (!std::isfinite(sample.value)) return;
    if (sample.name == "faprof_exporter_last_collection_timestamp_seconds") collected = sample.value;
    if (sample.name == "faprof_exporter_last_recording_timestamp_seconds") recorded = sample.value;
    const auto taker = Takers().find(sample.name);
    if (taker != Takers().end()) taker->second(page, sample);
  });
  if (!ours) {
    throw Error("the page has no metrics of fa-profile",
                "give the address of fa-profile serve: http://HOST:9407/metrics for instance");
  }
  if (collected && recorded) page.recording_age_seconds = std::max(0.0, *collected - *recorded);
  return page;
}

TopGain GainBetween(const TopPage& before, const TopPage& now) {
  TopGain gain;
  static const TopKernel kNew;
  for (const auto& [key, kernel] : now.kernels) {
    const auto found = before.kernels.find(key);
    const TopKernel& then = found == before.kernels.end() ? kNew : found->second;
    const double seconds = Gained(then.seconds, kernel.seconds);
    if (seconds > 0) gain.seconds[key] = seconds;
    for (const auto& [name, phase] : kernel.phases) {
      const auto known = then.phases.find(name);
      const double cycles = Gained(known == then.phases.end() ? 0.0 : known->second.cycles, phase.cycles);
      if (cycles > 0) gain.phase_cycles[key][name] = cycles;
    }
  }
  return gain;
}

}  // namespace fa_profile::top
