#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "fa_profile/jobs.h"
#include "fa_profile/python_runner.h"

namespace fa_profile::jobs {

/// The runner of the kernel; what the file prints goes to stderr. Throws Error: it does not name a function of a file.
python::PythonRunner OpenPython(const PythonOptions& options, int device,
                                const std::atomic<bool>* interrupted = nullptr);

/// Those of --case, or those of the file's that --kernel finds. Throws Error.
std::vector<std::string> PythonCases(const python::PythonRunner& runner, const PythonOptions& options);

/// Path of a file in Python that comes with the program: "fa_profile_kernel.py". Throws Error: it is missing.
std::string PythonProgram(const std::string& name);

}  // namespace fa_profile::jobs
