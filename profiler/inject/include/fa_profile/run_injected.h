#pragma once

#include <string>
#include <vector>

#include "fa_profile/diagnosis.h"
#include "fa_profile/inject_protocol.h"

namespace fa_profile::inject {

/// How a program ended that was watched.
struct InjectedEnd {
  /// One for each process that recorded and has ended, the first one's first; a killed process's is a ".part", and
  /// ".part.1" when the process was started again under that name. Empty only when all that recorded still run.
  std::vector<std::string> recordings;
  /// A process of the program that outlives it, as a daemon does: its recording gets its name when it ends.
  struct Running {
    std::string recording;
    int process = 0;  ///< 0: not known
  };
  std::vector<Running> running;
  int status = 0;  ///< as waitpid() gives it
};

/// Runs `program` (with its arguments) to its end, with this process's streams, and the library in it; Ctrl-C goes to
/// the program. Processes that outlive it are not waited for. Throws Error: the injection library is missing, the
/// recording exists, the program cannot be started, nothing was measured (with what it did).
InjectedEnd RunInjected(const std::vector<std::string>& program, const InjectPlan& plan);

/// What in this environment would stop or weaken RunInjected(). Never empty.
std::vector<Diagnosis> DiagnosePrograms();

}  // namespace fa_profile::inject
