#include "fa_profile/gpu_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "fa_profile/device.h"
#include "fa_profile/error.h"
#include "fa_profile/gpu_monitor.h"
#include "fa_profile/kernels.h"
#include "fa_profile/library_child.h"
#include "fa_profile/metric_host.h"
#include "fa_profile/metric_sets.h"
#include "fa_profile/run_injected.h"
#include "fa_profile/text.h"

namespace fa_profile::jobs {

std::string WhyNoGpu() { return collect::WhyNoDevice(); }

void RequireGpu(const std::string& what) {
  const std::string why_not = WhyNoGpu();
  if (why_not.empty()) return;
  throw Error(what + " needs a GPU: " + why_not, "run it on a machine where `nvidia-smi` lists one");
}

std::vector<Diagnosis> DiagnoseGpu(int device) {
  std::vector<Diagnosis> found = collect::DiagnoseDevice(device);
  std::ranges::move(inject::DiagnosePrograms(), std::back_inserter(found));
  return found;
}

void ListKernels(const Wanted& wanted, const std::vector<std::string>& paths) {
  std::vector<LibraryIdentity> libraries;  // all before the first line is printed
  for (const std::string& path : paths) libraries.push_back(AskForIdentity(path));
  for (const Kernel* const kernel : Ladder()) {
    if (!wanted(kernel->id())) continue;
    fmt::print("{} {:<16} {}\n", kernel->rung(), kernel->id(), kernel->teaches());
  }
  for (std::size_t i = 0; i < libraries.size(); ++i) {
    const LibraryIdentity& library = libraries[i];
    if (!wanted(library.kernel)) continue;
    fmt::print("- {:<16} {}, --shape {}\n", library.kernel, Printable(paths[i]), ToString(library.parameters));
    for (const std::string& tensor : library.tensors) fmt::print("  {:<16} {}\n", "", tensor);
  }
}

std::vector<std::string> KnownKernels() {
  std::vector<std::string> ids;
  for (const Kernel* const kernel : Ladder()) ids.emplace_back(kernel->id());
  return ids;
}

std::string KernelOfLibrary(const std::string& path, const ChildLimits& limits) {
  return AskForIdentity(path, {}, limits).kernel;
}

void ListCounters(const std::string& chip, const Wanted& wanted) {
  for (const collect::ChipMetric& metric : collect::ChipMetrics(chip)) {
    if (!wanted(metric.name)) continue;
    fmt::print("{:<64} {:<10} {}\n", metric.name, metric.type, metric.description);
  }
}

void ListChips() {
  for (const std::string& chip : collect::SupportedChips()) fmt::print("{}\n", chip);
}

std::vector<std::string> KnownChips() { return collect::SupportedChips(); }

std::set<std::string> KnownCounters() {
  std::set<std::string> names;
  for (const std::string& chip : MetricSetChips()) names.merge(collect::CounterNames(chip));
  return names;
}

std::function<HostReading()> MakeGpuReader(const std::string& library) {
  const auto monitor = std::make_shared<collect::GpuMonitor>(library);
  return [monitor] { return monitor->Read(); };
}

std::optional<unsigned> ComputeProcesses(const std::string& uuid) { return collect::CountComputeProcesses(uuid); }

}  // namespace fa_profile::jobs
