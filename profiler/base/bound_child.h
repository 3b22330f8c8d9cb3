#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace fa_profile {

/// What a child of StartBoundChild() is.
struct BoundChild {
  std::string program;                 ///< a path, or a name that PATH finds
  std::vector<std::string> arguments;  ///< argv[0] first
  std::string folder;                  ///< it runs there; empty: in this process's working folder
  int out = -1;                        ///< a descriptor for its stdout
  int err = -1;                        ///< a descriptor for its stderr
};

/// Starts a child that leads a process group and has an empty stdin, and that is killed when the calling thread ends,
/// also when a signal ends the process. Gives 0 and its number, or the error (errno).
int StartBoundChild(const BoundChild& plan, pid_t& child);

}  // namespace fa_profile
