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

  /// One launch of the class is to be counted. In each of its launches nothing waits for another.
  void Ask(const std::string& key);
  /// Launches are asked about: Begin() comes first for each.
  bool waits() const { return state_ == State::kDue || state_ == State::kExpired; }
  /// A launch of this class is to be counted.
  bool IsDue(const std::string& key) const { return state_ == State::kDue && due_.contains(key); }

  /// Before a launch, on its thread. kMeasured: End() must come. `selected`: the user wants this one.
  LaunchUse Begin(const std::string& key, bool selected);
  /// After it.
  void End();
  /// On our own thread, ten times a second.
  void Tick();
  /// Nothing is due any more.
  void Drop();
  /// The counter is closed. With the GPU idle.
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
  std::string counted_;  // the class that is counted now
  int ticks_ = 0;        // since the last launch that was counted
  std::int64_t counted_launches_ = 0;
  std::unique_ptr<SassCounter> counter_;
};

}  // namespace fa_profile::collect
