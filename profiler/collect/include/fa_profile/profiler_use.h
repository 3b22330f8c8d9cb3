#pragma once

namespace fa_profile::collect {

/// CUPTI's profiling API for counters, initialised while at least one of these exists. Any thread.
///
/// While it is initialised, each launch of the process takes longer: with four threads launching at the same time 1.9
/// us became 6.2 us, and 1.9 us again afterwards (NVIDIA H200, driver 580.159.04). Initialising takes 70 to 100 ms.
class ProfilerUse {
 public:
  /// Throws Error: CUPTI refuses.
  ProfilerUse();
  ~ProfilerUse();
  ProfilerUse(const ProfilerUse&) = delete;
  ProfilerUse& operator=(const ProfilerUse&) = delete;

  /// Keeps it initialised for good: for a process that does nothing but measure. Throws like the constructor.
  static void Keep();
};

}  // namespace fa_profile::collect
