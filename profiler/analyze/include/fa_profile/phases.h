#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/phase_map.h"
#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// The phase of each instruction of a function, in order; kUnattributed for those in none.
///
/// In an inline stack, the outermost frame whose function a rule names counts: what a phase calls belongs to the phase.
/// Lines are searched from the innermost frame outwards; a rule without a file name or with an empty range matches
/// nothing. Among several rules that fit equally well the map's first is used.
std::vector<std::string> PhasesOf(const DeviceFunction& function, const PhaseMap& map);

/// AttentionPhases() when one of its functions, `sync` apart, is in an inline stack of one of these functions; else
/// sass::OpcodePhases().
PhaseMap ChoosePhaseMap(const std::vector<const DeviceFunction*>& functions);

/// The phases of an entry's kernels, from the PC samples and the counts per instruction that the recording has for the
/// entry's case: docs/phases.md defines every number. Nothing if it has neither for these kernels.
///
/// An entry for a whole call of several kernels has its parts as phases; one for a part has the phases of the part's
/// own functions, or nothing if another part of the call runs the same function, because their samples cannot be
/// separated.
///
/// Fields read from `entry`: case_id, part, timing, and those `metrics` that formulas and closures name. `source` says
/// where the phases of all functions come from; `map` is the map for PhaseSource::kMap and kBest. A function without
/// instructions is unattributed.
std::optional<PhaseTable> AnalyzePhases(const Recording& recording, const ProfileEntry& entry,
                                        const std::optional<PhaseMap>& map = std::nullopt,
                                        PhaseSource source = PhaseSource::kBest);

/// CUPTI metric names that AnalyzePhases() checks sums against.
std::vector<std::string> ClosureInputs();

}  // namespace fa_profile::analyze
