#pragma once

#include <string>

namespace fa_profile {

/// What to write when foreign code ends this process.
struct CrashMessages {
  std::string crashed;  ///< SIGSEGV, SIGBUS, SIGILL, SIGFPE or SIGABRT
  std::string exited;   ///< it called exit()
};

/// While it exists, a crash or an exit() of this process ends it with one of `messages` on stderr and exit code 2, so
/// that the error names the foreign code. The process cannot go on: the code may have held the driver's locks or
/// overwritten our memory. Otherwise signals and exit() work as before. One at a time, in one thread. `messages` must
/// outlive it.
class CrashReport {
 public:
  explicit CrashReport(const CrashMessages& messages) noexcept;
  ~CrashReport();
  CrashReport(const CrashReport&) = delete;
  CrashReport& operator=(const CrashReport&) = delete;
};

}  // namespace fa_profile
