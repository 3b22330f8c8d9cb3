#include "launch_sampling.h"

#include <algorithm>
#include <utility>

#include "fa_profile/program_trace.h"

namespace fa_profile::inject {

void LaunchSampling::Begin() {
  active_ = open_ = true;
  opened_ns_ = collect::ActivityClockNs();
  recorded_ns_ = 0;
  recording_.Owe(gate_.TakeCounts());
  Close();
}

void LaunchSampling::End() {
  recording_.BeginCount();
  active_ = open_ = false;
}

void LaunchSampling::Lengthen() {
  constexpr Duration kLongestStretch{0.25};
  stretch_ = std::min(stretch_ * 2.0, kLongestStretch);
}

LaunchSampling::Duration LaunchSampling::Pause() {
  return stretch_ * std::uniform_real_distribution<double>(7.5, 20.0)(random_);
}

bool LaunchSampling::Open() {
  if (open_ || gate_.IsCapturing()) return open_;
  collect::StartTrace(&recording_);
  opened_ns_ = collect::ActivityClockNs();
  recording_.Resume(opened_ns_);
  open_ = true;
  return true;
}

void LaunchSampling::Close() {
  if (!open_ || gate_.IsCapturing()) return;
  collect::StopTrace();
  const std::int64_t now_ns = collect::ActivityClockNs();
  recording_.Pause(now_ns);
  recorded_ns_ += now_ns - opened_ns_;
  open_ = false;
}

ProgramRecording::Sample LaunchSampling::Take() {
  if (open_) {
    const std::int64_t now_ns = collect::ActivityClockNs();
    recorded_ns_ += now_ns - std::exchange(opened_ns_, now_ns);
  }
  return {std::exchange(recorded_ns_, 0), gate_.TakeCounts()};
}

}  // namespace fa_profile::inject
