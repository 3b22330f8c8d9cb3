#include <spdlog/spdlog.h>

#include <memory>
#include <string>
#include <utility>

#include "fa_profile/background_gpu_reader.h"
#include "fa_profile/error.h"
#include "fa_profile/sources.h"

namespace fa_profile::serve {
namespace {

struct Gpus {
  Gpus(std::function<HostReading()> read, double interval_seconds) : reader(std::move(read), interval_seconds) {}

  BackgroundGpuReader reader;
  bool had_gpm = false;
  std::string gpm_error;  // as last logged
};

std::string CollectGpus(Gpus& gpus, Collection& collection) {
  collection.host = gpus.reader.Latest();
  const HostReading& host = collection.host;
  // A GPU that never gave GPM may not have it: that is logged once, and is not reported as missing.
  if (host.gpm) {
    gpus.had_gpm = true;
    collection.Works("gpm");
  } else if (gpus.had_gpm) {
    collection.Lacks("gpm", host.gpm_error);
  } else if (host.nvml && gpus.gpm_error != host.gpm_error) {
    gpus.gpm_error = host.gpm_error;
    spdlog::info("gpm: {}", gpus.gpm_error);
  }
  if (!host.nvml) throw Error(host.nvml_error, "on a host without NVIDIA GPUs use serve --no-nvml");
  return {};
}

}  // namespace

Source NvmlSource(std::function<HostReading()> read_gpus, double interval_seconds) {
  const auto gpus = std::make_shared<Gpus>(std::move(read_gpus), interval_seconds);
  return {"nvml", [gpus](Collection& collection) { return CollectGpus(*gpus, collection); }};
}

}  // namespace fa_profile::serve
