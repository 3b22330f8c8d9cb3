#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace fa_profile {

/// How to start a child with StartBoundChild().
struct BoundChild {
  std::string program;                 ///< a path, or a name found on PATH
  std::vector<std::string> arguments;  ///< argv[0] first
  std::string folder;                  ///< its working folder; empty: this process's
  int out = -1;                        ///< a descriptor for its stdout
  int err = -1;                        ///< a descriptor for its stderr
};

/// Starts a child that leads a process group and has an empty stdin, and that is killed when the calling thread ends,
/// even if a signal ends the process. Returns 0 and its number, or the error (errno).
int StartBoundChild(const BoundChild& plan, pid_t& child);

}  // namespace fa_profile
