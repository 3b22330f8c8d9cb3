#pragma once

#include <string>
#include <vector>

#include "fa_profile/diagnosis.h"
#include "fa_profile/inject_protocol.h"

namespace fa_profile::inject {

/// How a program ended that was watched.
struct InjectedEnd {
  /// One for each process that recorded, the first one's first; a killed process's ends in ".part". Never empty.
  std::vector<std::string> recordings;
  int status = 0;  ///< as waitpid() gives it
};

/// Runs `program` (with its arguments) to its end, with this process's streams, and the library in it; Ctrl-C goes to
/// the program. Throws Error: the injection library is missing, the recording exists, the program cannot be started,
/// nothing was measured (with what it did).
InjectedEnd RunInjected(const std::vector<std::string>& program, const InjectPlan& plan);

/// What in this environment would stop or weaken RunInjected(). Never empty.
std::vector<Diagnosis> DiagnosePrograms();

}  // namespace fa_profile::inject
