#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/gate_lock.h"
#include "fa_profile/program_api.h"
#include "fa_profile/work_calls.h"

namespace fa_profile::collect {

/// Waits for the GPU before a launch is measured, because a range waits for everything that runs. The wait doubles
/// after each that was too short: a program that launches far ahead may have 1024 launches pending. But the GPU may be
/// busy because it waits for a thread that wants to launch, which waits for us: then a wait is short, and after it that
/// thread has time to launch.
class IdleWait {
 public:
  static constexpr double kFirstSeconds = 0.2;
  static constexpr double kLongestSeconds = 1.6;
  static constexpr int kMostTries = 6;  ///< in a row, before measuring is given up
  static double SecondsOf(int tries_before) {
    return std::min(kFirstSeconds * static_cast<double>(1 << std::min(tries_before, kMostTries)), kLongestSeconds);
  }

  IdleWait(ProgramApi& api, const WorkCalls& calls) : api_(api), calls_(calls) {}
  /// Held by the caller of Wait(), and wanted by threads that launch.
  void YieldTo(const GateLock& lock) { lock_ = &lock; }
  /// False: the GPU is busy, and this launch is not measured. Throws Error: it was busy in the last kMostTries.
  bool Wait() {
    if (not_before_ns_ > 0 && api_.NowNs() < not_before_ns_) return false;
    const double seconds = IsLockWanted() ? kFirstSeconds : SecondsOf(in_a_row_);
    not_before_ns_ = 0;
    if (api_.WaitIdle(seconds)) {
      in_a_row_ = 0;
      if (WaitForCalls()) return true;
      not_before_ns_ = api_.NowNs() + kAfterLongCallNs;
      ++failed_;
      return false;
    }
    if (IsLockWanted()) not_before_ns_ = api_.NowNs() + static_cast<std::int64_t>(seconds * 1e9);
    ++failed_;
    if (++in_a_row_ >= kMostTries) {
      throw Error("the GPU does not become idle, so no launch can be measured alone");
    }
    return false;
  }
  std::int64_t failed() const { return failed_; }

  /// With the GPU idle, until no call under way can give it work. False: one takes long.
  bool WaitForCalls() {
    if (!calls_.any()) return true;
    return calls_.WaitForAll() && api_.WaitIdle(kFirstSeconds);  // for what they gave
  }

 private:
  // A thread that compiles for seconds must not cost each launch the wait.
  static constexpr std::int64_t kAfterLongCallNs = 200'000'000;

  bool IsLockWanted() const { return lock_ != nullptr && lock_->IsWantedByOthers(); }

  ProgramApi& api_;
  const WorkCalls& calls_;
  const GateLock* lock_ = nullptr;
  std::int64_t not_before_ns_ = 0;
  int in_a_row_ = 0;
  std::int64_t failed_ = 0;
};

/// Whether launches are recorded, as switched by the gate and its rounds.
class TraceSwitch {
 public:
  explicit TraceSwitch(ProgramApi& api) : api_(api) {}

  /// The activity API records nothing from Stop() to Start(), nor from BeginUnrolling() to EndUnrolling(), when the
  /// nodes of a graph would be recorded as separate launches. While the program is sampled they are: CUPTI cannot start
  /// recording then.
  void Stop() {
    if (!unrolling_) api_.StopTrace();
  }
  void Start() {
    if (!unrolling_) api_.StartTrace();
  }
  /// Called by EndUnrolling() at the latest, because then the program is sampled again.
  void EndMeasuring() {
    if (unrolling_) {
      ends_measuring_ = true;
    } else {
      api_.EndMeasuring();
    }
  }
  /// False: the nodes are recorded.
  bool BeginUnrolling() {
    if (api_.sampling() == ProgramApi::Sampling::kOn) return false;
    Stop();
    return unrolling_ = true;
  }
  void EndUnrolling() {
    if (!std::exchange(unrolling_, false)) return;
    Start();
    if (std::exchange(ends_measuring_, false)) api_.EndMeasuring();
  }

 private:
  ProgramApi& api_;
  bool unrolling_ = false;
  bool ends_measuring_ = false;
};

/// The program as shared by the launch gate and its rounds. Under the gate's lock.
struct MeasuredProgram {
  ProgramApi& api;
  LaunchFilter& filter;
  LaunchClasses& classes;
  CounterPlan plan;
  WorkCalls calls{};
  IdleWait idle{api, calls};
  TraceSwitch trace{api};
  std::vector<DataLoss> losses{};  ///< over the whole run
};

/// How a launch is treated.
enum class LaunchUse {
  kNone,      ///< it passes
  kProbed,    ///< it runs alone, and is recorded like any other
  kMeasured,  ///< it runs alone, and leaves no record with times
  kReplaced   ///< a graph's: its nodes were launched in its place, and left no records
};

/// Ticks of our own thread without a launch to measure before a round stops waiting.
inline constexpr int kMostTicksWithoutLaunch = 10;

}  // namespace fa_profile::collect
