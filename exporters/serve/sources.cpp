#include "fa_profile/sources.h"

#include <utility>

namespace fa_profile::serve {

std::vector<Source> SourcesOf(const ServeOptions& options, std::function<HostReading()> read_gpus) {
  std::vector<Source> sources;
  // The GPUs first: recordings are counted by NVML's GPU numbers.
  if (options.nvml) sources.push_back(NvmlSource(std::move(read_gpus), options.interval_seconds));
  if (!options.spool.empty()) sources.push_back(SpoolSource(options));
  return sources;
}

}  // namespace fa_profile::serve
