#pragma once

#include <string>

namespace fa_profile::gate {

/// "2026-11-21T12:00:00Z": such texts sort by time.
bool IsUtcTime(const std::string& text);

}  // namespace fa_profile::gate
