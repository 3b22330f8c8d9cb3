#pragma once

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <thread>

namespace fa_profile::collect {

/// A mutex that knows its holder. It is not recursive: a thread that may already hold it checks IsMine() first. Its
/// holder cannot be cancelled (pthread_cancel), which would unwind functions that let nothing through and keep the
/// lock.
class GateLock {
 public:
  /// The calling thread holds it.
  bool IsMine() const noexcept { return holder_.load() == std::this_thread::get_id(); }

  /// Another thread holds it.
  bool IsTakenByOther() const noexcept {
    const std::thread::id holder = holder_.load();
    return holder != std::thread::id() && holder != std::this_thread::get_id();
  }

  /// Other threads are in lock(). The holder's view: one may arrive at any time.
  bool IsWantedByOthers() const noexcept { return waiting_ > 0; }

  // The standard library's lock interface, for std::unique_lock.
  void lock() {
    ++waiting_;
    mutex_.lock();
    --waiting_;
    Take();
  }
  bool try_lock() {
    if (!mutex_.try_lock()) return false;
    Take();
    return true;
  }
  void unlock() {
    const int cancel_state = cancel_state_;
    holder_ = std::thread::id();
    mutex_.unlock();
    (void)pthread_setcancelstate(cancel_state, nullptr);
  }

 private:
  void Take() {
    holder_ = std::this_thread::get_id();
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);
  }

  std::mutex mutex_;
  std::atomic<std::thread::id> holder_{};
  std::atomic<int> waiting_ = 0;
  int cancel_state_ = PTHREAD_CANCEL_ENABLE;  // of the holder before
};

}  // namespace fa_profile::collect
