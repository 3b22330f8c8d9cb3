#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace fa_profile {

/// Starts `program` (a path, or a name that PATH finds) with `arguments`, argv[0] first, and this process's
/// environment and streams. Throws Error when it cannot be started: whatever exit code it gives later is its own.
pid_t StartChild(const std::string& program, const std::vector<std::string>& arguments);

/// Waits for the end of a child that StartChild() gave; its status as waitpid() gives it.
int WaitForChild(pid_t child);

/// What a child that was run to its end wrote to stdout, the first MiB of it, and its status as waitpid() gives it.
struct ChildOutput {
  std::string text;
  int status = 0;
};

/// Runs a child to its end. Throws Error like StartChild(). `stdin_descriptor`: a file that it reads as its stdin; -1:
/// this process's.
ChildOutput CaptureChild(const std::string& program, const std::vector<std::string>& arguments,
                         int stdin_descriptor = -1);

}  // namespace fa_profile
