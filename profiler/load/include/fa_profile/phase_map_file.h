#pragma once

#include <string>

#include "fa_profile/phase_map.h"
#include "fa_profile/recording.h"

namespace fa_profile {

/// A phase map in YAML (docs/phase-map.md). `name` stands in front of the line and column of every error. Throws Error:
/// no YAML; a wrong type; an unknown key (with near matches); a phase twice; a rule without anything; a line range that
/// is none; lines, functions or opcodes that two phases claim.
PhaseMap ParsePhaseMap(const std::string& text, const std::string& name);

/// ParsePhaseMap() of a file of at most 1 MiB.
PhaseMap LoadPhaseMap(const std::string& path);

/// Throws Error, with the names that the code has, when no instruction of the recording belongs to a phase of `map`, or
/// no code was recorded. Returns what of the map names nothing while the rest does: "phase 'x'" and, of a phase that
/// does, "function 'y' of phase 'x'" or "opcode 'Z' of phase 'x'" that no instruction has.
std::vector<std::string> RequirePhases(const Recording& recording, const PhaseMap& map);

}  // namespace fa_profile
