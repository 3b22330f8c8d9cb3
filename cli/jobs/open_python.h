#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "fa_profile/jobs.h"
#include "fa_profile/python_runner.h"

namespace fa_profile::jobs {

/// The kernel's runner; the file's output goes to stderr. Throws Error: it does not name a function in a file.
python::PythonRunner OpenPython(const PythonOptions& options, int device,
                                const std::atomic<bool>* interrupted = nullptr);

/// Those of --case, or the file's cases that match --kernel. Throws Error.
std::vector<std::string> PythonCases(const python::PythonRunner& runner, const PythonOptions& options);

/// Path of a Python file bundled with the program: "fa_profile_kernel.py". Throws Error: it is missing.
std::string PythonProgram(const std::string& name);

}  // namespace fa_profile::jobs
