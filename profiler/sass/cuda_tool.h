#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fa_profile/child_process.h"

namespace fa_profile::sass {

/// Path of the CUDA toolkit's program `name`: from the environment's `variable`, PATH, or CudaToolkits(). Absent if not
/// found. Throws Error when `variable` is set and names no program.
std::optional<std::string> FindCudaTool(const std::string& name, const char* variable);

/// Runs a program without a shell in `folder` (empty: this process's) and keeps everything that it prints. Throws Error
/// when it cannot be started, or runs longer than `limit_s` (it is then killed).
ChildEnd RunCudaTool(const std::vector<std::string>& arguments, const std::string& folder = {}, double limit_s = 120.0);

}  // namespace fa_profile::sass
