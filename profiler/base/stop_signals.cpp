#include "fa_profile/stop_signals.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "fa_profile/error.h"

namespace fa_profile {
namespace {

std::atomic<bool> stop_came{false};
std::atomic<int> stop_signal{0};
std::atomic<int> stop_event{-1};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void NoteStop(int signal) {
  const int before = errno;
  const std::uint64_t one = 1;
  if (!stop_came.exchange(true)) stop_signal = signal;
  if (write(stop_event, &one, sizeof one) < 0) {
  }  // it is already readable
  errno = before;
}

}  // namespace

StopSignals::StopSignals() {
  stop_came = false;
  stop_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (stop_event < 0) throw Error("eventfd", std::strerror(errno), "signals cannot be waited for", "close other files");
  struct sigaction action {};
  action.sa_handler = NoteStop;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    (void)sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) (void)sigaction(kSignals[i], &action, nullptr);
  }
}

StopSignals::~StopSignals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) (void)sigaction(kSignals[i], &before_[i], nullptr);
  (void)close(stop_event.exchange(-1));
}

void StopSignals::EndBySignal() const {
  if (!stop_came) return;
  const int signal = stop_signal;
  (void)std::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  (void)pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  (void)raise(signal);
}

const std::atomic<bool>& StopSignals::came() const { return stop_came; }

int StopSignals::descriptor() const { return stop_event; }

}  // namespace fa_profile
