#pragma once

#include <atomic>
#include <thread>

namespace fa_profile::collect {

/// When PC sampling may end while the program goes on: at a launch that finds the GPU idle, in a program that launches
/// from one thread. With several threads, three of eight attempts did not end (H200, driver 580.159.04).
///
///     kNotAsked ──Ask()──> kAsked ──Ask(), the 11th and later──> kDue
///         │                 │  ^                                  │
///         │                 │  └── NextWaitSeconds() <────────────┤
///         │   a second thread launches                            │ the sixth NextWaitSeconds()
///         └─────────────────┴────────> kNever <───────────────────┘
///
/// Under the gate's lock, but for KnowsThisThread().
class SamplingEnd {
 public:
  /// A launch of the calling thread.
  void OnLaunch() noexcept;
  /// The calling thread's launches change nothing here. Any thread, without the lock.
  bool KnowsThisThread() const noexcept;

  /// No other thread than the calling one has launched.
  bool IsOnlyThread() const noexcept { return state_ != State::kNever && KnowsThisThread(); }

  /// Once a tick, to request the end. Ten ticks show whether a second thread launches.
  void Ask();
  bool possible() const { return state_ != State::kNever; }
  /// Launches have to be watched.
  bool asked() const { return state_ == State::kAsked || state_ == State::kDue; }
  /// The next launch should try.
  bool due() const { return state_ == State::kDue; }
  /// How long a launch that tries may wait for the GPU.
  double NextWaitSeconds();

 private:
  enum class State { kNotAsked, kAsked, kDue, kNever };
  std::atomic<State> state_ = State::kNotAsked;
  std::atomic<std::thread::id> first_thread_{};
  int asks_ = 0;
  int tries_ = 0;
};

}  // namespace fa_profile::collect
