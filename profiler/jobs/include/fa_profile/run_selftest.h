#pragma once

#include <string>

#include "fa_profile/selftest.h"

namespace fa_profile::jobs {

struct SelftestOptions {
  std::string kernel_pattern;  ///< regular expression; empty: all
  int device = 0;
  std::string output;  ///< recording to keep; empty: none
  bool overwrite = false;
  std::string command_line;
};

/// Measures kernels whose true counts are known, and compares.
SelftestReport RunSelftest(const SelftestOptions& options);

}  // namespace fa_profile::jobs
