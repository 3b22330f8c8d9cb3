#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile {

/// Counters of single kernel launches: auto ranges with kernel replay, switched on around the launches of interest.
class KernelRangeCollector {
 public:
  /// Plans `metrics` for the current device and takes its counters. `device`, `sink` and `next_id` outlive it.
  KernelRangeCollector(const Device& device, const std::vector<std::string>& metrics, const std::string& cache_dir,
                       RecordingSink& sink, std::int64_t& next_id);
  ~KernelRangeCollector();
  KernelRangeCollector(const KernelRangeCollector&) = delete;
  KernelRangeCollector& operator=(const KernelRangeCollector&) = delete;

  /// Every launch from here to Stop() is replayed once per pass, device memory saved and restored around it.
  void Start(std::size_t max_launches);

  /// Writes one range per launch since Start(): launch i belongs to part `parts[i]` of case `case_id`.
  void Stop(std::int64_t case_id, const std::vector<std::string>& parts);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// What a program that launches kernels of its own is watched by.
class LaunchObserver {
 public:
  virtual ~LaunchObserver() = default;
  /// Before the driver launches; on the launching thread. case_id, part, id and times are not set; registers and
  /// static shared memory are, where the driver tells them.
  virtual void OnLaunch(const Launch& launch) noexcept = 0;
  /// After the driver's launch call returned.
  virtual void OnLaunched() noexcept = 0;
};

/// Calls `observer` (which must live as long as the process) around every kernel launch of this process. Graph launches
/// are not seen. False when another profiler is attached.
bool ObserveLaunches(LaunchObserver* observer);

}  // namespace fa_profile
