#pragma once

#include <csignal>

namespace fa_profile {

/// While it lives, a write of this thread that fails is an error of that call alone: beyond RLIMIT_FSIZE it sends no
/// SIGXFSZ, and to a pipe without a reader no SIGPIPE. For our own writes on threads of another's program. Keeps
/// errno.
class QuietWrites {
 public:
  QuietWrites() noexcept;
  ~QuietWrites();
  QuietWrites(const QuietWrites&) = delete;
  QuietWrites& operator=(const QuietWrites&) = delete;

 private:
  sigset_t ours_;  // blocked here; one that was pending before is the program's
  sigset_t before_;
};

}  // namespace fa_profile
