#pragma once

#include <string>

namespace fa_profile {

/// While it lives, a crash (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT) of this process ends it with `message` on stderr
/// and exit code 2, so that foreign code is blamed by name. There is no way back from such a crash: the code may have
/// held the driver's locks or overwritten our memory. Outside its life the signals do what they did before.
/// One at a time, in one thread. `message` must outlive it.
class CrashReport {
 public:
  explicit CrashReport(const std::string& message) noexcept;
  ~CrashReport();
  CrashReport(const CrashReport&) = delete;
  CrashReport& operator=(const CrashReport&) = delete;
};

}  // namespace fa_profile
