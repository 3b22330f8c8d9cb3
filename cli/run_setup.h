#pragma once

#include <optional>
#include <string>

#include "commands.h"
#include "fa_profile/metric_sets.h"
#include "fa_profile/phase_collector.h"
#include "fa_profile/progress_bar.h"
#include "fa_profile/recording.h"

namespace fa_profile::cli {

/// What runs of the ladder, of a program and of the selftest share.

/// WantedMetrics() of the options.
MetricSet WantedMetrics(const RunOptions& options, const Device& device);

/// Of --phases: "auto" is on for the sets full, detailed and phases.
bool WantsPhases(const RunOptions& options);

/// -o, or "fa-profile-<UTC time>.fap".
std::string OutputPath(const RunOptions& options);

/// Reads machine code with nvdisasm; absent where that is missing.
std::optional<collect::Disassembler> FindDisassembler();

/// Shows a collector's progress. `bar` outlives it.
std::function<void(const collect::Progress&)> ShowOn(ProgressBar& bar);

/// "recording: F.fap" on stderr, below an empty line.
void NameRecording(const std::string& line);

/// Reports a finished run, and names its recording on stderr. `name`: the one that it will have; empty: the same.
void ReportRun(const RunOptions& options, const std::string& recording, const std::string& name = {});

}  // namespace fa_profile::cli
