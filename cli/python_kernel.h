#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <string>
#include <vector>

#include "commands.h"
#include "fa_profile/python_runner.h"

namespace fa_profile::cli {

/// --kernel-py, --python, --timeout, and --case, which is for processes of fa-profile gate.
void AddPythonKernel(CLI::App& app, PythonOptions& options);

/// --python and --timeout have an effect on kernels in Python alone. Throws Error.
void RequirePythonKernel(const CLI::App& app, const PythonOptions& options);

/// Throws Error for the first of these options that was given together with --kernel-py.
void RefuseWithPython(const CLI::App& app, const std::vector<const char*>& without_effect);

/// The runner of the kernel; what the file prints goes to stderr. Throws Error: it does not name a function of a file.
python::PythonRunner OpenPython(const PythonOptions& options, int device,
                                const std::atomic<bool>* interrupted = nullptr);

/// Those of --case, or those of the file's that --kernel finds. Throws Error.
std::vector<std::string> PythonCases(const python::PythonRunner& runner, const PythonOptions& options,
                                     const std::string& pattern);

/// A note for the verdict on two kernels in Python that are verified in different ways; empty: in the same way, or
/// `base` or `candidate` is a build of another kind. Throws Error: one cannot be loaded.
std::string PythonPairNote(const std::string& base, const std::string& candidate, const std::string& python,
                           double timeout_s);

}  // namespace fa_profile::cli
