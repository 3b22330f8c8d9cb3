#include "launch_sampling.h"

#include <utility>

#include "fa_profile/program_trace.h"

namespace fa_profile::inject {

void LaunchSampling::Begin() {
  active_ = open_ = true;
  opened_ns_ = collect::ActivityClockNs();
  recorded_ns_ = 0;
  counters_.CountLaunches(true);
  Close();
}

void LaunchSampling::End() {
  counters_.CountLaunches(false);
  active_ = open_ = false;
}

LaunchSampling::Duration LaunchSampling::Pause() {
  return Duration(std::uniform_real_distribution<double>(0.15, 0.4)(random_));
}

bool LaunchSampling::Open() {
  if (open_ || counters_.IsCapturing()) return open_;
  collect::StartTrace(&recording_);
  opened_ns_ = collect::ActivityClockNs();
  recording_.Resume(opened_ns_);
  open_ = true;
  return true;
}

void LaunchSampling::Close() {
  if (!open_ || counters_.IsCapturing()) return;
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
  return {std::exchange(recorded_ns_, 0), counters_.TakeCounts()};
}

}  // namespace fa_profile::inject
