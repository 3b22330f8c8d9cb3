#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fa_profile/python_jobs.h"
#include "fa_profile/shape.h"

namespace fa_profile::jobs {

struct VerifyOptions {
  std::string kernel_pattern;
  std::vector<std::string> kernel_libraries;
  PythonOptions python;
  std::vector<std::string> tensor_files;  ///< of the libraries' kernels: "TENSOR=FILE"
  std::vector<Shape> shapes;              ///< empty: the correctness suite; of a library with parameters, its own shape
  int draws = 0;                          ///< 0: what the suite says
  std::uint64_t seed = 1;
  int device = 0;
};

/// Compares every kernel with its reference, and prints a line for each. False: one is not correct.
bool VerifyKernels(const VerifyOptions& options);

/// The same of the function of options.python, with its own reference; in every build.
bool VerifyPythonKernel(const VerifyOptions& options);

/// The child process that loads one kernel library for its parent (library_child.h), and verifies its kernel at the
/// shape, if there is one.
[[noreturn]] void RunKernelLibrary(const VerifyOptions& options);

}  // namespace fa_profile::jobs
