#pragma once

#include <optional>
#include <string>
#include <utility>

#include "fa_profile/phase_map.h"
#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile::load {

/// Reads a recording and analyzes it, with the phases of `map` or from `source`. Loads only the metrics that Analyze()
/// reads; with `cubins` the machine code too.
///   const auto [recording, profile] = LoadProfile("run.fap");
///   exporters::WriteTextReport(std::cout, profile);
std::pair<Recording, Profile> LoadProfile(const std::string& path, const std::optional<PhaseMap>& map = std::nullopt,
                                          bool cubins = false, PhaseSource source = PhaseSource::kBest);

}  // namespace fa_profile::load
