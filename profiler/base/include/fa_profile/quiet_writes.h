#pragma once

#include <csignal>

namespace fa_profile {

/// While it exists, a failed write of this thread is only an error of that call: beyond RLIMIT_FSIZE it sends no
/// SIGXFSZ, and to a pipe without a reader no SIGPIPE. For our own writes on another program's threads. Keeps errno.
class QuietWrites {
 public:
  QuietWrites() noexcept;
  ~QuietWrites();
  QuietWrites(const QuietWrites&) = delete;
  QuietWrites& operator=(const QuietWrites&) = delete;

 private:
  sigset_t ours_;  // blocked here; one pending before that is the program's
  sigset_t before_;
};

}  // namespace fa_profile
