#pragma once

#include <string>

namespace fa_profile {

/// The current time, UTC, in strftime()'s format: "%Y-%m-%dT%H:%M:%SZ".
std::string UtcNow(const char* pattern);

/// The current Unix time in seconds.
double UnixNow();

}  // namespace fa_profile
