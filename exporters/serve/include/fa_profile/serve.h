#pragma once

#include <functional>
#include <string>

#include "fa_profile/gpu_reading.h"
#include "fa_profile/serve_options.h"

namespace fa_profile::serve {

/// Serves metrics until SIGTERM or SIGINT, and logs to stderr. `read_gpus`: see SourcesOf(); `bundled_recording`: see
/// Exporter. Throws Error when it cannot start.
void Serve(const ServeOptions& options, std::function<HostReading()> read_gpus,
           const std::function<std::string()>& bundled_recording);

}  // namespace fa_profile::serve
