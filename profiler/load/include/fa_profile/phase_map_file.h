#pragma once

#include <string>

#include "fa_profile/phase_map.h"
#include "fa_profile/recording.h"

namespace fa_profile::load {

/// A phase map in strict YAML (docs/phase-map.md). Errors begin with `name`, line and column. Throws Error: not YAML; a
/// wrong type; an unknown key (with near matches); a duplicate or empty phase; not a range of lines; lines, functions
/// or opcodes that two phases claim.
PhaseMap ParsePhaseMap(const std::string& text, const std::string& name);

/// ParsePhaseMap() for a file of at most 1 MiB.
PhaseMap LoadPhaseMap(const std::string& path);

/// Throws Error, with the names in the code, if no instruction in the recording belongs to a phase of `map`, or no code
/// was recorded. Returns the parts of the map that match nothing while others do: "phase 'x'" and, for a phase that
/// matches, "function 'y' of phase 'x'" or "opcode 'Z' of phase 'x'" that no instruction has.
std::vector<std::string> RequirePhases(const Recording& recording, const PhaseMap& map);

}  // namespace fa_profile::load
