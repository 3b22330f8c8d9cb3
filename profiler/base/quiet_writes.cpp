#include "fa_profile/quiet_writes.h"

#include <pthread.h>

#include <cerrno>
#include <ctime>

namespace fa_profile {

QuietWrites::QuietWrites() noexcept {
  const int saved = errno;
  sigset_t pending;
  (void)sigemptyset(&pending);
  (void)sigpending(&pending);
  (void)sigemptyset(&ours_);
  for (const int signal : {SIGXFSZ, SIGPIPE}) {
    if (sigismember(&pending, signal) != 1) (void)sigaddset(&ours_, signal);
  }
  (void)pthread_sigmask(SIG_BLOCK, &ours_, &before_);
  errno = saved;
}

QuietWrites::~QuietWrites() {
  const int saved = errno;
  const timespec at_once{};
  while (sigtimedwait(&ours_, nullptr, &at_once) > 0 || errno == EINTR) {
  }
  (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = saved;
}

}  // namespace fa_profile
