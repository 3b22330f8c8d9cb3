#pragma once

#include <atomic>
#include <mutex>
#include <thread>

namespace fa_profile::collect {

/// A mutex that knows its holder. It is not recursive: a thread that may already hold it checks IsMine() first.
class GateLock {
 public:
  /// The calling thread holds it.
  bool IsMine() const noexcept { return holder_.load() == std::this_thread::get_id(); }

  /// Other threads are in lock(). The holder's view: one may arrive at any time.
  bool IsWantedByOthers() const noexcept { return waiting_ > 0; }

  // The standard library's lock interface, for std::unique_lock.
  void lock() {
    ++waiting_;
    mutex_.lock();
    --waiting_;
    holder_ = std::this_thread::get_id();
  }
  bool try_lock() {
    if (!mutex_.try_lock()) return false;
    holder_ = std::this_thread::get_id();
    return true;
  }
  void unlock() {
    holder_ = std::thread::id();
    mutex_.unlock();
  }

 private:
  std::mutex mutex_;
  std::atomic<std::thread::id> holder_{};
  std::atomic<int> waiting_ = 0;
};

}  // namespace fa_profile::collect
