#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fa_profile/python_jobs.h"
#include "fa_profile/shape.h"

namespace fa_profile::jobs {

/// Options of a timing process of the gate.
struct GateSampleOptions {
  std::string kernel_pattern;
  std::vector<std::string> kernel_libraries;
  PythonOptions python;       ///< with a kernel: it alone is timed, and no ladder
  std::vector<Shape> shapes;  ///< empty: the default shape
  int launches = 15;          ///< timed samples per case
  std::uint64_t order = 0;    ///< seed of the order in which the cases are timed
  int device = 0;
};

/// Times each case and the gate's reference kernel once, in random order, without profiling or verification, and prints
/// one line of JSON (docs/gate-pair.md).
void RunGateSample(const GateSampleOptions& options);

}  // namespace fa_profile::jobs
