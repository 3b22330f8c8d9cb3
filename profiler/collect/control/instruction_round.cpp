#include "fa_profile/instruction_round.h"

#include <utility>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/instruction_counts.h"

namespace fa_profile::collect {
namespace {

// A launch whose instructions are counted runs some 50 times slower.
constexpr double kLongestCountedSeconds = 10.0;

}  // namespace

void InstructionRound::Ask(const std::string& key) {
  if (!program_.plan.counts_instructions || state_ == State::kFailed || program_.filter.over()) return;
  due_.insert(key);
  state_ = State::kDue;
  ticks_ = 0;
}

LaunchUse InstructionRound::Begin(const std::string& key, bool selected) {
  if (!waits()) return LaunchUse::kNone;
  if (state_ == State::kDue && (!selected || !due_.contains(key))) return LaunchUse::kNone;
  if (!program_.idle.Wait()) return LaunchUse::kNone;
  if (state_ == State::kExpired) {
    EndRound(State::kIdle);
    return LaunchUse::kNone;
  }
  program_.trace.Stop();
  try {
    if (!counter_) counter_ = OpenInstructionCounter(program_.api.TakeCounters());
    counter_->Start();
  } catch (const std::exception& error) {
    program_.trace.Start();
    Fail(error.what());
    return LaunchUse::kNone;
  }
  counted_ = key;
  state_ = State::kCounting;
  ticks_ = 0;
  ++counted_launches_;
  program_.filter.OnMeasured();
  return LaunchUse::kMeasured;
}

void InstructionRound::End() {
  const std::string key = std::exchange(counted_, "");
  due_.erase(key);
  try {
    if (!program_.api.WaitIdle(kLongestCountedSeconds)) {
      (void)counter_.release();  // any call to it may wait forever
      throw Error("a launch did not end while its instructions were counted", "");
    }
    std::vector<CountedPc> pcs;
    try {
      pcs = counter_->Take();
    } catch (const std::exception&) {
      (void)counter_->Stop();  // or the program's code stays patched, which is slow
      throw;
    }
    const std::uint64_t dropped = counter_->Stop();
    program_.trace.Start();
    program_.api.AddCounts(key, std::move(pcs), dropped);
    state_ = State::kDue;
    if (due_.empty() || program_.filter.over()) EndRound(State::kIdle);
  } catch (const std::exception& error) {
    program_.trace.Start();
    Fail(error.what());
  }
}

void InstructionRound::Tick() {
  if (state_ == State::kDue && ++ticks_ > kMostTicksWithoutLaunch) state_ = State::kExpired;
}

void InstructionRound::Drop() {
  due_.clear();
  if (state_ != State::kFailed) state_ = State::kIdle;
}

void InstructionRound::EndRound(State next) {
  due_.clear();
  state_ = next;
  program_.trace.EndMeasuring();
}

void InstructionRound::Fail(const char* why) {
  const std::string text = why;
  program_.losses.push_back({"counts_missing", "kernels", text.substr(0, text.find('\n')), 1});
  EndRound(State::kFailed);
}

}  // namespace fa_profile::collect
