#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/phase_map.h"
#include "fa_profile/profile.h"
#include "fa_profile/profile_diff.h"
#include "fa_profile/rank_report.h"
#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// Derives everything that a report shows. Pure: the same recording gives the same profile, on any machine.
///
/// One entry per case for the whole call, then one per part if the call has several. A case that was only verified or
/// timed also has an entry. Ranges of one case that share a part (kernel replay of a program) are entries "name", "name
/// #2", ... A kernel that was verified and is not correct gets no timing, and no metric in seconds or per second: its
/// speed is not a result. Metrics that could not be derived are absent.
///
/// `source` says where phases come from, `map` assigns instructions to phases: PhaseSource::kBest uses the map, else
/// phase functions, else what it infers from the machine code, else opcode classes. A DataLoss reports when more than a
/// twentieth of a kernel's time belongs to no phase, and when rules of `map` overlap.
Profile Analyze(const Recording& recording, const std::optional<PhaseMap>& map = std::nullopt,
                PhaseSource source = PhaseSource::kBest);

/// CUPTI metric names that Analyze() reads: load only these for a fast report.
std::vector<std::string> MetricsForAnalysis();

/// Compares two profiles. "same": the values differ by less than what runs of the same code do. A noisy metric by less
/// than `min_ratio`, by what the samples of its times and phases explain, or, of a share, by a hundredth; a
/// deterministic one by less than half a percent. Else a catalogue metric with a polarity is "better" or "worse", but a
/// phase's count that moved by less than half a percent of the kernel's is "changed". Phases are compared by name.
///   const Profile before = Analyze(store::RecordingReader("a.fap").Load());
///   const ProfileDiff diff = Diff(before, Analyze(store::RecordingReader("b.fap").Load()));
ProfileDiff Diff(const Profile& before, const Profile& after, double min_ratio = 0.02);

/// Puts recordings of one program next to each other: names of their files and profiles, one or more, each with a
/// `program`.
RankReport JoinRanks(const std::vector<std::pair<std::string, Profile>>& profiles);

}  // namespace fa_profile::analyze
