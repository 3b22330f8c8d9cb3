#include "gpu_access.h"

#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "fa_profile/device.h"
#include "fa_profile/error.h"
#include "fa_profile/gpu_monitor.h"
#include "fa_profile/kernels.h"
#include "fa_profile/metric_host.h"
#include "fa_profile/metric_sets.h"

namespace fa_profile {

std::string WhyNoGpu() { return WhyNoDevice(); }

void RequireGpu(const std::string& what) {
  const std::string why_not = WhyNoGpu();
  if (why_not.empty()) return;
  throw Error(what + " needs a GPU: " + why_not, "run it on a machine where `nvidia-smi` lists one");
}

std::vector<Diagnosis> DiagnoseGpu(int device) { return DiagnoseDevice(device); }

void ListKernels(const std::string& pattern) {
  for (const Kernel* const kernel : Ladder()) {
    if (kernel->id().find(pattern) == std::string::npos) continue;
    fmt::print("{} {:<16} {}\n", kernel->rung(), kernel->id(), kernel->teaches());
  }
}

void ListCounters(const std::string& chip, const std::string& pattern) {
  for (const ChipMetric& metric : ChipMetrics(chip)) {
    if (metric.name.find(pattern) == std::string::npos) continue;
    fmt::print("{:<64} {:<10} {}\n", metric.name, metric.type, metric.description);
  }
}

void ListChips() {
  for (const std::string& chip : SupportedChips()) fmt::print("{}\n", chip);
}

std::vector<std::string> KnownChips() { return SupportedChips(); }

std::set<std::string> KnownCounters() {
  std::set<std::string> names;
  for (const std::string& chip : MetricSetChips()) names.merge(CounterNames(chip));
  return names;
}

std::function<HostReading()> MakeGpuReader(const std::string& library) {
  const auto monitor = std::make_shared<GpuMonitor>(library);
  return [monitor] { return monitor->Read(); };
}

std::optional<unsigned> ComputeProcesses(const std::string& uuid) { return CountComputeProcesses(uuid); }

}  // namespace fa_profile
