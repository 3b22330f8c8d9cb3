#pragma once

#include <string>

namespace fa_profile {

/// The time it is now, UTC, as strftime() writes it: "%Y-%m-%dT%H:%M:%SZ".
std::string UtcNow(const char* pattern);

/// The time it is now, Unix time in seconds.
double UnixNow();

}  // namespace fa_profile
