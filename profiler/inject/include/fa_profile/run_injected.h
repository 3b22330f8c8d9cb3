#pragma once

#include <string>
#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile {

/// A program that is run with its kernel launches measured (auto ranges, kernel replay).
struct InjectedRun {
  std::vector<std::string> program;  ///< and its arguments
  Session session;
  std::vector<std::string> metrics;  ///< CUPTI names
  std::string built_in_set;          ///< the set that they are from; empty: none
  std::string output;                ///< recording to write
  bool overwrite = false;            ///< replace an existing one
  std::string kernel_pattern;        ///< regular expression; empty: all kernels
  int max_launches = 0;
  std::string cache_dir;  ///< where validated metric plans are kept; empty: nowhere
};

struct InjectedEnd {
  std::string recording;  ///< `output`, or its ".part" when the program was killed
  int status = 0;         ///< as waitpid() gives it
};

/// Runs the program to its end, with this process's streams; Ctrl-C goes to the program. Throws Error: the injection
/// library is missing, `output` exists, the program cannot be started, nothing was measured (with what it did).
InjectedEnd RunInjected(const InjectedRun& run);

}  // namespace fa_profile
