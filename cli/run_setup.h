#pragma once

#include <optional>
#include <string>

#include "commands.h"
#include "fa_profile/metric_sets.h"
#include "fa_profile/phase_collector.h"
#include "fa_profile/recording.h"

namespace fa_profile {

/// What every profiling run needs first, of the ladder and of a program alike.

/// --metrics, or the set from --section-folder or ours, for this device.
MetricSet WantedMetrics(const RunOptions& options, const Device& device);

/// The session as asked for, with the time it is now.
Session NewSession(const RunOptions& options, const std::string& metric_set);

/// -o, or "fa-profile-<UTC time>.fap".
std::string OutputPath(const RunOptions& options);

/// Reads machine code with nvdisasm; absent where that is missing.
std::optional<Disassembler> FindDisassembler();

/// Where validated metric plans are kept: $XDG_CACHE_HOME or ~/.cache; empty when neither is set.
std::string CacheDirectory();

}  // namespace fa_profile
