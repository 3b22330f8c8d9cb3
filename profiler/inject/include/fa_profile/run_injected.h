#pragma once

#include <string>
#include <vector>

#include "fa_profile/diagnosis.h"
#include "fa_profile/inject_protocol.h"

namespace fa_profile::inject {

/// How a watched program ended.
struct InjectedEnd {
  /// One for each process that recorded and has ended, the first one's first; that of a killed process is a ".part", or
  /// ".part.1" if the process was started again under that name. Empty only if all that recorded are still running.
  std::vector<std::string> recordings;
  /// A process of the program that outlives it, such as a daemon: its recording gets its name when it ends.
  struct Running {
    std::string recording;
    int process = 0;  ///< 0: not known
  };
  std::vector<Running> running;
  int status = 0;  ///< as waitpid() gives it
};

/// Runs `program` (with its arguments) to its end with the library injected, on this process's streams; Ctrl-C goes to
/// the program. Processes that outlive it are not waited for. Throws Error: the injection library is missing, the
/// recording exists, the program cannot be started, nothing was measured (with what the program did).
InjectedEnd RunInjected(const std::vector<std::string>& program, const InjectPlan& plan);

/// What in this environment would stop or weaken RunInjected(). Never empty.
std::vector<Diagnosis> DiagnosePrograms();

}  // namespace fa_profile::inject
