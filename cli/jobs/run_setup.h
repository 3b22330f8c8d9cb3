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

/// Code shared by runs of the ladder, of a program and of the selftest.

MetricSet WantedMetrics(const MetricChoice& choice, const Device& device);

/// Settings for every process under injection: the session, the metrics and the cache of plans.
inject::InjectPlan PlanOf(const MetricChoice& choice, const MetricSet& set, const std::string& replay_mode,
                          const std::string& command_line);

/// The value of --phases: "auto" is on for the sets full, detailed and phases.
bool WantsPhases(const MetricChoice& choice);

/// -o, or "fa-profile-<UTC time>.fap".
std::string OutputPath(const RecordingFile& file);

/// Reads machine code with nvdisasm; absent if it is missing.
std::optional<collect::Disassembler> FindDisassembler();

/// Disassembles what the finished recording sampled. A recording without instructions is better than none, so errors
/// are only notices.
void AddInstructions(const std::string& recording);

/// Shows a collector's progress. `bar` outlives it.
std::function<void(const collect::Progress&)> ShowOn(ProgressBar& bar);

}  // namespace fa_profile::jobs
