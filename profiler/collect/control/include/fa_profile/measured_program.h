#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/program_api.h"

namespace fa_profile::collect {

/// Waits for the GPU before a launch is measured, because a range waits for all that runs. The wait doubles after each
/// that was too short: a program that launches far ahead has up to 1024 launches to wait for.
class IdleWait {
 public:
  static constexpr double kFirstSeconds = 0.2;
  static constexpr double kLongestSeconds = 1.6;
  static constexpr int kMostTries = 6;  ///< in a row, after which nothing is measured any more
  static double SecondsOf(int tries_before) {
    return std::min(kFirstSeconds * static_cast<double>(1 << std::min(tries_before, kMostTries)), kLongestSeconds);
  }

  explicit IdleWait(ProgramApi& api) : api_(api) {}
  /// False: the GPU is busy, and this launch is not measured. Throws Error: it was busy at the last kMostTries.
  bool Wait() {
    if (api_.WaitIdle(SecondsOf(in_a_row_))) {
      in_a_row_ = 0;
      return true;
    }
    ++failed_;
    if (++in_a_row_ >= kMostTries) {
      throw Error("the GPU does not become idle, so no launch can be measured alone");
    }
    return false;
  }
  std::int64_t failed() const { return failed_; }

 private:
  ProgramApi& api_;
  int in_a_row_ = 0;
  std::int64_t failed_ = 0;
};

/// Whether launches are recorded, as the gate and its rounds switch it.
class TraceSwitch {
 public:
  explicit TraceSwitch(ProgramApi& api) : api_(api) {}

  /// The activity API records nothing from Stop() to Start(), nor from BeginUnrolling() to EndUnrolling(), in which the
  /// nodes of a graph would be recorded as launches of their own. While the program is sampled they are: CUPTI does not
  /// begin to record then.
  void Stop() {
    if (!unrolling_) api_.StopTrace();
  }
  void Start() {
    if (!unrolling_) api_.StartTrace();
  }
  /// At the latest at EndUnrolling(), because then the program is sampled again.
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

/// The program as the launch gate and its rounds share it. Under the gate's lock.
struct MeasuredProgram {
  ProgramApi& api;
  LaunchFilter& filter;
  LaunchClasses& classes;
  CounterPlan plan;
  IdleWait idle{api};
  TraceSwitch trace{api};
  std::vector<DataLoss> losses{};  ///< of the whole run
};

/// What becomes of a launch.
enum class LaunchUse {
  kNone,      ///< it passes
  kProbed,    ///< it runs alone, and is recorded as any other
  kMeasured,  ///< it runs alone, and leaves no record with times
  kReplaced   ///< a graph's: its nodes were launched in its place, and left no records
};

/// Ticks of our own thread without a launch to measure after which a round waits for what does not come any more.
inline constexpr int kMostTicksWithoutLaunch = 10;

}  // namespace fa_profile::collect
