#pragma once

#include <string>

#include "fa_profile/error.h"

namespace fa_profile::serve {

/// Reports a failed run to the exporter: writes NAME.failure into its spool, JSON with "kind" ("perfmon_conflict" when
/// something else holds the GPU's counters, "other"), "error" and "created_at". Throws nothing: the user must see the
/// run's own error.
void LeaveFailureNote(const std::string& spool, const Error& error) noexcept;

/// A name in the spool unique to this run: host, time and process.
std::string SpoolName(const char* suffix);

}  // namespace fa_profile::serve
