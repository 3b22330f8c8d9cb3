#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fa_profile/phase_map.h"
#include "fa_profile/profile.h"
#include "fa_profile/recording.h"
#include "phase_sums.h"

namespace fa_profile::analyze {

/// The phases of functions that belong together, and how they were found.
struct ChosenPhases {
  std::vector<LabelledFunction> functions;
  std::string attribution;
  std::optional<PhaseInference> inference;  ///< present if inference from machine code was tried
};

/// Finds the phases from `source`. `sampling` and `counting` may be null: they weigh instructions, and counts decide
/// the checks of the inference.
///
/// Among several functions, those whose inference is refused are unattributed if the one with the most weight is
/// inferred; otherwise all have opcode classes.
ChosenPhases ChoosePhases(const std::vector<const DeviceFunction*>& functions, const std::optional<PhaseMap>& map,
                          PhaseSource source, const PcSampling* sampling, const SassCounting* counting);

}  // namespace fa_profile::analyze
