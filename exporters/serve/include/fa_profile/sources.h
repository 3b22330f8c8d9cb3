#pragma once

#include <functional>
#include <vector>

#include "fa_profile/serve_options.h"
#include "fa_profile/source.h"

namespace fa_profile::serve {

/// The sources selected by the options, in the order of collection. `read_gpus`: reads this host's GPUs, called in a
/// separate thread; empty with options.nvml off. Throws Error when an option cannot be honoured.
std::vector<Source> SourcesOf(const ServeOptions& options, std::function<HostReading()> read_gpus);

/// This host's GPUs: source "nvml", and "gpm" for what only newer GPUs have.
Source NvmlSource(std::function<HostReading()> read_gpus, double interval_seconds);

/// The recordings of options.spool: source "spool". Throws Error: it is not a folder, another exporter has it.
Source SpoolSource(const ServeOptions& options);

}  // namespace fa_profile::serve
