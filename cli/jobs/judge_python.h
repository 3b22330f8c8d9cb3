#pragma once

#include <string>
#include <vector>

#include "fa_profile/jobs.h"

namespace fa_profile::jobs {

/// Judges the cases of a kernel in Python (profiler/judge) and prints a line or two for each. How many are not correct,
/// or refused. Throws Error: the file is at fault, or there is no GPU.
int JudgePythonCases(const VerifyPythonJob& job, const std::vector<std::string>& cases);

}  // namespace fa_profile::jobs
