#pragma once

#include <optional>
#include <string>

namespace fa_profile {

/// A file of the data that come with the gate: beside the installed program, or in the source tree it was built from.
std::optional<std::string> FindGateData(const std::string& name);

/// What gate selftest said of the gate when its data were taken, one line for reports; empty when the file that holds
/// it is missing.
std::string GateErrorRate();

}  // namespace fa_profile
