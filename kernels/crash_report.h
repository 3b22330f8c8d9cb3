#pragma once

#include <string>

namespace fa_profile {

/// What is written when foreign code takes this process with it.
struct CrashMessages {
  std::string crashed;  ///< SIGSEGV, SIGBUS, SIGILL, SIGFPE or SIGABRT
  std::string exited;   ///< it called exit()
};

/// While it lives, a crash or an exit() of this process ends it with one of `messages` on stderr and exit code 2, so
/// that the error names the foreign code. The process cannot go on: the code may have held the driver's locks
/// or overwritten our memory. Outside its life signals and exit() do what they did before. One at a time, in one
/// thread. `messages` must outlive it.
class CrashReport {
 public:
  explicit CrashReport(const CrashMessages& messages) noexcept;
  ~CrashReport();
  CrashReport(const CrashReport&) = delete;
  CrashReport& operator=(const CrashReport&) = delete;
};

}  // namespace fa_profile
