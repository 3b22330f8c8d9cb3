#pragma once

#include <string>

#include "fa_profile/error.h"

namespace fa_profile {

/// Leaves word in the exporter's spool that a run could not do its job, so that a fleet sees it: NAME.failure, JSON
/// with "kind" ("perfmon_conflict" when something else holds the GPU's counters, "other"), "error" and "created_at".
/// Throws nothing: the run's own error is what the user must see.
void LeaveFailureNote(const std::string& spool, const Error& error) noexcept;

/// A name in the spool that no other run has: host, time and process.
std::string SpoolName(const char* suffix);

}  // namespace fa_profile
