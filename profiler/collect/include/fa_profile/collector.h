#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fa_profile/recording.h"
#include "fa_profile/workload.h"

namespace fa_profile {

struct CollectOptions {
  std::vector<std::string> metrics;  ///< CUPTI names
  bool kernel_replay = false;        ///< auto ranges with kernel replay instead of user ranges with user replay
  bool flush_cache = false;          ///< overwrite the L2 before every measured call; otherwise run it once unmeasured
  int warmup_launches = 5;           ///< calls before anything of a case is measured
  int timed_launches = 100;          ///< timed samples per case and part; 0: no timing
  int ranges_per_batch = 34;  ///< ranges measured together; two batches are in memory, 4 MB a range with set full
  std::string cache_dir;      ///< where validated metric plans are kept; empty: nowhere
};

/// Where a run stands, for a progress bar.
struct Progress {
  std::string stage;  ///< "timing", "launches", "counters"
  std::string subject;
  int done = 0;
  int total = 0;
};

/// A case to measure: its id in the recording and the workload, which the caller owns.
struct CollectJob {
  std::int64_t case_id = 0;
  Workload* workload = nullptr;
};

/// CallName() of the whole call.
std::string JobName(const CollectJob& job);

/// Must be called before the first NVTX call of the process: it lets CUPTI see NVTX ranges (CUPTI is an NVTX injection
/// library and is looked up once). Keeps a value that the user has set.
void PrepareProcessForNvtx();

/// Measures workloads on one device and writes what it learns to a sink, committing after each batch of ranges, so that
/// a killed run keeps every finished one. One thread, with the device current.
class Collector {
 public:
  /// `device`, `sink` and `next_id` (the first free id for what is written; advanced) outlive the collector. `progress`
  /// may be empty; `cancelled`, when given and true, ends the run with an Error between two launches.
  Collector(const Device& device, CollectOptions options, RecordingSink& sink, std::int64_t& next_id,
            std::function<void(const Progress&)> progress = {}, std::function<bool()> cancelled = {});
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  /// Measures the jobs, in this order: durations (unprofiled), launches and NVTX ranges (activity API), counters (range
  /// profiler). Ranges of a case are its whole call and, when it has several parts, each part; all jobs of one call
  /// share the passes. `keep_images`: write raw counter data beside the values. Throws Error for CUDA and CUPTI
  /// failures; what is merely missing goes to the sink as DataLoss.
  void Collect(const std::vector<CollectJob>& jobs, bool keep_images = true);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fa_profile
