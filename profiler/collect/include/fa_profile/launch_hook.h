#pragma once

#include "fa_profile/recording.h"

namespace fa_profile {

/// Watches the kernel launches of a program.
class LaunchObserver {
 public:
  virtual ~LaunchObserver() = default;
  /// Before the driver launches; on the launching thread. case_id, part, id and times are not set; registers, static
  /// shared memory and local memory are, where the driver knows them.
  virtual void OnLaunch(const Launch& launch) noexcept = 0;
  /// After the driver's launch call returned.
  virtual void OnLaunched() noexcept = 0;
};

/// Calls `observer` (which must live as long as the process) around every kernel launch of this process. Graph launches
/// are not seen. False when another profiler is attached.
bool ObserveLaunches(LaunchObserver* observer);

}  // namespace fa_profile
