#include "gpu_reader.h"

#include <memory>

#include "fa_profile/gpu_monitor.h"

namespace fa_profile {

std::function<HostReading()> MakeGpuReader(const std::string& library) {
  const auto monitor = std::make_shared<GpuMonitor>(library);
  return [monitor] { return monitor->Read(); };
}

}  // namespace fa_profile
