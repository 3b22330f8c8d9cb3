#include "gpu_reader.h"

#include <memory>

#include "fa_profile/device.h"
#include "fa_profile/gpu_monitor.h"

namespace fa_profile {

std::function<HostReading()> MakeGpuReader(const std::string& library) {
  const auto monitor = std::make_shared<GpuMonitor>(library);
  return [monitor] { return monitor->Read(); };
}

std::optional<unsigned> ComputeProcesses(const std::string& uuid) { return CountComputeProcesses(uuid); }

}  // namespace fa_profile
