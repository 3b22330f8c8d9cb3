#pragma once

#include <optional>
#include <string>

#include "fa_profile/inject_protocol.h"
#include "fa_profile/jobs.h"
#include "fa_profile/metric_sets.h"
#include "fa_profile/phase_collector.h"
#include "fa_profile/progress_bar.h"
#include "fa_profile/recording.h"

namespace fa_profile::jobs {

/// What runs of the ladder, of a program and of the selftest share.

MetricSet WantedMetrics(const MetricChoice& choice, const Device& device);

/// What every process under injection gets: the session, the metrics and the cache of plans.
inject::InjectPlan PlanOf(const MetricChoice& choice, const MetricSet& set, const std::string& replay_mode,
                          const std::string& command_line);

/// Of --phases: "auto" is on for the sets full, detailed and phases.
bool WantsPhases(const MetricChoice& choice);

/// -o, or "fa-profile-<UTC time>.fap".
std::string OutputPath(const RecordingFile& file);

/// Reads machine code with nvdisasm; absent where that is missing.
std::optional<collect::Disassembler> FindDisassembler();

/// Disassembles what the finished recording sampled. A recording without instructions is better than none: an error is
/// a notice.
void AddInstructions(const std::string& recording);

/// Shows a collector's progress. `bar` outlives it.
std::function<void(const collect::Progress&)> ShowOn(ProgressBar& bar);

}  // namespace fa_profile::jobs
