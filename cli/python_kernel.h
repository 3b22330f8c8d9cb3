#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <string>
#include <vector>

#include "commands.h"
#include "fa_profile/python_runner.h"

namespace fa_profile::cli {

/// --kernel-py, --python and --timeout.
void AddPythonKernel(CLI::App& app, PythonOptions& options);

/// --python and --timeout have an effect on kernels in Python alone. Throws Error.
void RequirePythonKernel(const CLI::App& app, const PythonOptions& options);

/// Throws Error for the first of these options that was given together with --kernel-py.
void RefuseWithPython(const CLI::App& app, const std::vector<const char*>& without_effect);

/// The runner of the kernel; what the file prints goes to stderr. Throws Error: it does not name a function of a file.
python::PythonRunner OpenPython(const PythonOptions& options, int device,
                                const std::atomic<bool>* interrupted = nullptr);

/// Those of the cases that --kernel finds. Throws Error.
std::vector<std::string> PythonCases(const python::PythonDescription& description, const std::string& pattern);

/// A note for the verdict on two kernels in Python, in case that they are verified in different ways; empty: they are
/// not, or are no kernels in Python. Throws Error: one cannot be loaded.
std::string PythonPairNote(const std::string& base, const std::string& candidate, const std::string& python,
                           double timeout_s);

}  // namespace fa_profile::cli
