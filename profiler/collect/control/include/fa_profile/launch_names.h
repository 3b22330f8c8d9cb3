#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fa_profile::collect {

/// Names of the kernels of a program's last launches. CUPTI's records only point to a name, and CUPTI frees it with its
/// module, before it hands over the last records. Any thread.
class LaunchNames {
 public:
  /// `correlation`: CUPTI's id of the launch.
  void OnLaunch(std::uint32_t correlation, const char* name) noexcept;
  /// Valid for good. nullptr: the launch was not seen, or many came after it.
  const char* NameOf(std::uint32_t correlation) const noexcept;

  /// Launches that are kept. More than a fast program makes until their records come.
  static constexpr std::size_t kSlots = std::size_t{1} << 18U;

 private:
  mutable std::mutex mutex_;
  std::set<std::string, std::less<>> names_;
  std::vector<std::pair<std::uint32_t, const char*>> slots_;  // by correlation; empty until the first launch
};

LaunchNames& ProcessLaunchNames();

}  // namespace fa_profile::collect
