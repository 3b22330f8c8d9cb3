#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fa_profile/collect_run.h"

namespace fa_profile::collect {

class CounterSession;

struct CollectOptions {
  std::vector<std::string> metrics;  ///< CUPTI names
  bool kernel_replay = false;        ///< auto ranges with kernel replay instead of user ranges with user replay
  int warmup_launches = 5;           ///< calls before anything in a case is measured
  int timed_launches = 100;          ///< timed samples per case and part; 0: no timing
  int ranges_per_batch = 34;  ///< ranges measured together; two batches are in memory, 4 MB a range with set full
};

/// Measures workloads on one device and writes the results to a sink, committing after each batch of ranges, so that a
/// killed run keeps every finished one. Before a range the L2 is overwritten, or, with a warm cache, the range runs
/// once unmeasured. One thread, with the device current.
class Collector {
 public:
  Collector(CollectRun& run, CollectOptions options);
  ~Collector();

  /// Measures the jobs, in this order: durations (unprofiled), launches and NVTX ranges (activity API), counters (range
  /// profiler). A case's ranges are its whole call and, if it has several parts, each part; all jobs of one call share
  /// the passes. `keep_images`: also write raw counter data. Throws Error for CUDA and CUPTI failures; missing data
  /// goes to the sink as DataLoss.
  void Collect(const std::vector<CollectJob>& jobs, bool keep_images = true);

 private:
  struct PlannedRange;
  static std::vector<PlannedRange> PlanRanges(const std::vector<CollectJob>& jobs);
  void Time(const std::vector<PlannedRange>& ranges);
  std::vector<std::string> PartsOfLaunches(const CollectJob& job);
  void TraceLaunches(const std::vector<CollectJob>& jobs);
  void CollectUserRanges(const std::vector<PlannedRange>& ranges, bool keep_images);
  void CollectKernelRanges(const std::vector<CollectJob>& jobs, bool keep_images);

  CollectRun& run_;
  GpuApi& gpu_;
  CollectOptions options_;
  std::unique_ptr<CounterSession> counters_;  // made at the first range
};

}  // namespace fa_profile::collect
