#include "fa_profile/sampling_end.h"

#include "fa_profile/measured_program.h"

namespace fa_profile::collect {
namespace {

// Ticks spent looking for other threads that launch.
constexpr int kAsksBeforeTry = 10;

}  // namespace

void SamplingEnd::OnLaunch() noexcept {
  const std::thread::id thread = std::this_thread::get_id();
  if (first_thread_.load() == std::thread::id()) first_thread_ = thread;
  if (first_thread_.load() != thread) state_ = State::kNever;
}

bool SamplingEnd::KnowsThisThread() const noexcept {
  return state_ == State::kNever || first_thread_.load() == std::this_thread::get_id();
}

void SamplingEnd::Ask() {
  if (state_ == State::kNever) return;
  state_ = ++asks_ > kAsksBeforeTry ? State::kDue : State::kAsked;
}

double SamplingEnd::NextWaitSeconds() {
  const double seconds = IdleWait::SecondsOf(tries_);
  state_ = ++tries_ < IdleWait::kMostTries ? State::kAsked : State::kNever;
  return seconds;
}

}  // namespace fa_profile::collect
