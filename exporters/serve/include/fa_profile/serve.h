#pragma once

#include <functional>
#include <string>

#include "fa_profile/exporter.h"

namespace fa_profile::serve {

/// Serves metrics until SIGTERM or SIGINT, and logs to stderr. `read_gpus` and `bundled_recording`: as Exporter takes
/// them. Throws Error when it cannot start.
void Serve(const ServeOptions& options, std::function<HostReading()> read_gpus,
           const std::function<std::string()>& bundled_recording);

}  // namespace fa_profile::serve
