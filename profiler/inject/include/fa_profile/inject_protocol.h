#pragma once

#include <string>

#include "fa_profile/recording.h"

namespace fa_profile {

// Environment variables by which fa-profile tells the injected library what to do.
inline constexpr const char* kInjectOutput = "FA_PROFILE_INJECT_OUTPUT";        // recording to write
inline constexpr const char* kInjectOverwrite = "FA_PROFILE_INJECT_OVERWRITE";  // "1": replace an existing one
inline constexpr const char* kInjectMetrics = "FA_PROFILE_INJECT_METRICS";      // file, one CUPTI name a line
inline constexpr const char* kInjectSet = "FA_PROFILE_INJECT_SET";              // built-in set; empty: none
inline constexpr const char* kInjectSession = "FA_PROFILE_INJECT_SESSION";      // the session as JSON
inline constexpr const char* kInjectCache = "FA_PROFILE_INJECT_CACHE";          // plan cache directory
inline constexpr const char* kInjectKernelPattern = "FA_PROFILE_INJECT_KERNEL";
inline constexpr const char* kInjectMaxLaunches = "FA_PROFILE_INJECT_MAX_LAUNCHES";

/// The session across the process boundary.
std::string WriteSession(const Session& session);
Session ReadSession(const std::string& json);

}  // namespace fa_profile
