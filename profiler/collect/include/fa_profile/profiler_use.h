#pragma once

namespace fa_profile::collect {

/// CUPTI's profiling API for counters, initialised while at least one of these lives. Any thread.
///
/// While it is initialised, each launch of the process takes longer: with four threads that launch at the same time
/// 1.9 us became 6.2 us, and 1.9 us again after the end (NVIDIA H200, driver 580.159.04). To initialise it takes 70 to
/// 100 ms.
class ProfilerUse {
 public:
  /// Throws Error: CUPTI refuses.
  ProfilerUse();
  ~ProfilerUse();
  ProfilerUse(const ProfilerUse&) = delete;
  ProfilerUse& operator=(const ProfilerUse&) = delete;

  /// It stays initialised for good: for a process that does nothing but measure. Throws as the constructor does.
  static void Keep();
};

}  // namespace fa_profile::collect
