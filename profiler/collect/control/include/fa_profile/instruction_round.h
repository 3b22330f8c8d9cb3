#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "fa_profile/measured_program.h"

namespace fa_profile::collect {

/// Counts the instructions of one launch of each class that a counter round has measured, while PC sampling is still
/// paused. All calls under the gate's lock.
///
///     kIdle ── Ask() ──> kDue ── Begin(): a class that is due, GPU idle ──> kCounting
///       ^                │  ^                                                   │
///       │                │  └──────────────── End(): classes are left ──────────┤
///       │                └─ Tick(): 10 without a launch ──> kExpired            │
///       │                                                      │                │
///       ├───────────── Begin(): any launch, GPU idle ──────────┘                │
///       └───────────── End(): it was the last, or --launch-count is reached ────┘
///
/// CUPTI fails, or the launch does not end: kFailed, for good. Whichever way a round ends, EndMeasuring() follows.
/// Drop() leads from kDue and kExpired to kIdle without it.
class InstructionRound {
 public:
  explicit InstructionRound(MeasuredProgram& program) : program_(program) {}

  /// Requests a count of one launch of the class. No launch of it may wait for another.
  void Ask(const std::string& key);
  /// Each launch must be checked: Begin() is called first.
  bool waits() const { return state_ == State::kDue || state_ == State::kExpired; }
  /// A launch of this class is to be counted.
  bool IsDue(const std::string& key) const { return state_ == State::kDue && due_.contains(key); }

  /// Before a launch, on its thread. If kMeasured, End() must follow. `selected`: the user wants this one.
  LaunchUse Begin(const std::string& key, bool selected);
  /// After the launch.
  void End();
  /// On our own thread, ten times a second.
  void Tick();
  /// Nothing is due any longer.
  void Drop();
  /// Closes the counter. With the GPU idle.
  void Close() { counter_.reset(); }

  /// Launches that were counted.
  std::int64_t counted_launches() const { return counted_launches_; }

 private:
  enum class State { kIdle, kDue, kCounting, kExpired, kFailed };

  void EndRound(State next);
  void Fail(const char* why);

  MeasuredProgram& program_;
  State state_ = State::kIdle;
  std::set<std::string> due_;
  std::string counted_;  // the class being counted
  int ticks_ = 0;        // since the last counted launch
  std::int64_t counted_launches_ = 0;
  std::unique_ptr<SassCounter> counter_;
};

}  // namespace fa_profile::collect
