#pragma once

#include <chrono>
#include <cstdint>
#include <random>

#include "fa_profile/launch_gate.h"
#include "program_recording.h"

namespace fa_profile::inject {

/// Records the program's launches in short stretches and only counts them in between: recording every launch costs a
/// program of short kernels a sixth of its speed. For our own thread.
class LaunchSampling {
 public:
  using Duration = std::chrono::duration<double>;

  LaunchSampling(ProgramRecording& recording, collect::LaunchGate& gate) : recording_(recording), gate_(gate) {}

  bool active() const { return active_; }
  /// Begins to sample, after every launch was recorded; a window of the recording begins there, too.
  void Begin();
  /// Every launch is recorded from here on, as since Open().
  void End();

  Duration stretch() const { return stretch_; }
  /// Doubles stretches and pauses from here on, up to a limit.
  void Lengthen();
  /// Time until the next stretch: random, so that the stretches do not keep step with the program.
  Duration Pause();
  /// Begin and end a stretch. Neither does anything while a stream captures. Open(): whether one is open.
  bool Open();
  void Close();

  /// Launches recorded and requested since the last call.
  ProgramRecording::Sample Take();

 private:
  ProgramRecording& recording_;
  collect::LaunchGate& gate_;
  Duration stretch_{0.02};
  std::minstd_rand random_;
  bool active_ = false;
  bool open_ = false;
  std::int64_t opened_ns_ = 0;
  std::int64_t recorded_ns_ = 0;
};

}  // namespace fa_profile::inject
