#pragma once

#include <string>
#include <vector>

#include "fa_profile/collect_run.h"

namespace fa_profile::collect {

/// Samples metrics during a call, at the shortest interval that the hardware supports: how its beginning, its waves and
/// its tail use the GPU.
///
/// Nothing else may profile at the same time: no range profiler and no PC sampler. One thread, with the device current.
class TimelineCollector {
 public:
  explicit TimelineCollector(CollectRun& run) : run_(run) {}

  /// Samples one launch of each job's call for each group of TimelineMetrics(), writes PmSample, and commits. Times
  /// count from the first sample with activity: a metric of the group is above a hundredth of its largest value.
  ///
  /// A sample lasts 10 us, or a thousandth of the call where that is longer. A call of less than 0.1 ms is a DataLoss
  /// "timeline_too_short"; a group that the chip cannot sample "timeline_unavailable"; a sample that saw no activity
  /// "timeline_missing"; a full buffer "timeline_cut". Throws Error for CUDA failures.
  void Collect(const std::vector<CollectJob>& jobs);

 private:
  struct Group {
    std::string name;
    std::vector<std::string> metrics;  ///< CUPTI's names
  };

  double CallNs(const CollectJob& job);
  void Sample(const CollectJob& job, const Group& group, std::int64_t interval_ns);
  void Write(const CollectJob& job, const Group& group, const std::vector<PmReading>& readings);
  void Lose(const char* kind, const CollectJob& job, const std::string& reason);

  CollectRun& run_;
};

}  // namespace fa_profile::collect
