#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "fa_profile/code_listing.h"
#include "fa_profile/phase_map.h"
#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// The instructions of an entry's kernels with phases and measurements: a listing for each function, in the recording's
/// order. Phases are those of AnalyzePhases(), so the samples of a phase add up to its share of warp time; if the call
/// has several kernels each has the phases of its code.
///
/// An entry whose code is not in the recording has one listing, which says why. A part of a call that was measured as a
/// whole has none: its code is listed with the call.
///
/// Fields read from `entry`: kernel, shape, case_id, part.
std::vector<InstructionListing> ListInstructions(const Recording& recording, const ProfileEntry& entry,
                                                 const std::optional<PhaseMap>& map = std::nullopt,
                                                 PhaseSource source = PhaseSource::kBest);

/// Keeps the `limit` instructions with the largest shares, by address.
void KeepHottest(InstructionListing& listing, std::size_t limit);

/// The source lines of a listing of all instructions, hottest first. An instruction counts for the line of its
/// innermost frame.
SourceListing ListLines(const InstructionListing& listing);

/// Keeps the first `limit` lines or instructions.
void KeepHottest(SourceListing& listing, std::size_t limit);

}  // namespace fa_profile::analyze
