#pragma once

#include <CLI/CLI.hpp>
#include <vector>

#include "fa_profile/jobs.h"

namespace fa_profile::cli {

/// --kernel-py, --python, --timeout, and --case, which is for processes of fa-profile gate.
void AddPythonKernel(CLI::App& app, jobs::PythonOptions& options);

/// --python and --timeout have an effect on kernels in Python alone. Throws Error.
void RequirePythonKernel(const CLI::App& app, const jobs::PythonOptions& options);

/// Throws Error for the first of these options that was given together with --kernel-py.
void RefuseWithPython(const CLI::App& app, const std::vector<const char*>& without_effect);

}  // namespace fa_profile::cli
