#pragma once

#include <string>
#include <vector>

namespace fa_profile::jobs {

/// A kernel in Python: --kernel-py and how it is run.
struct PythonOptions {
  std::string kernel;  ///< FILE.py:FUNCTION; empty: none
  std::string python = "python3";
  double timeout_s = 120.0;  ///< to load the file, and for each case
  /// Full names of cases, for processes of fa-profile gate, which knows them; empty: the file is asked.
  std::vector<std::string> cases{};
};

/// A note for the verdict on two kernels in Python that are verified in different ways; empty: in the same way, or
/// `base` or `candidate` is a build of another kind. Throws Error: one cannot be loaded.
std::string PythonPairNote(const std::string& base, const std::string& candidate, const std::string& python,
                           double timeout_s);

}  // namespace fa_profile::jobs
