#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "fa_profile/gate_lock.h"

namespace fa_profile::collect {

/// The program's calls under way, launches apart, that give work to the SMs or load code. cuptiPCSamplingDisable does
/// not return while other threads make such calls: it waits for the SMs to be idle, and one that loads a module waits
/// for it (H200, driver 580.159.04). So none begins while another thread holds the gate's lock, and the holder waits
/// for those under way.
class WorkCalls {
 public:
  /// On the program's threads, around each call. Begin() waits while another thread holds `lock`.
  void Begin(GateLock& lock) noexcept {
    while (true) {
      ++under_way_;  // before the look at the lock: its holder looks here after taking it
      if (!lock.IsTakenByOther()) return;
      --under_way_;
      const std::lock_guard wait(lock);
    }
  }
  void End() noexcept { --under_way_; }

  bool any() const noexcept { return under_way_ > 0; }

  /// The lock's holder: none is under way, and none begins. False: one takes long, as a call that compiles does.
  bool WaitForAll() const noexcept {
    constexpr std::chrono::microseconds kLook{50};
    const auto deadline = std::chrono::steady_clock::now() + kLongest;
    while (any()) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      std::this_thread::sleep_for(kLook);
    }
    return true;
  }

  static constexpr std::chrono::milliseconds kLongest{20};

 private:
  std::atomic<int> under_way_ = 0;
};

}  // namespace fa_profile::collect
