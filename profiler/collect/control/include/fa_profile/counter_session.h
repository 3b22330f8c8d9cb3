#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "fa_profile/collect_run.h"

namespace fa_profile::collect {

/// The contents of one user range: `prepare` runs before the range opens in every pass, `body` inside it.
struct UserRange {
  std::string name;
  std::function<void()> prepare;
  std::function<void()> body;
};

/// Runs all `ranges` in order once in every pass, until CUPTI has all passes of `plan` (user ranges, user replay).
/// Throws Error, also when CUPTI asks for more passes than the plan explains; `profiler` is then unusable.
CounterData RunPasses(RangeProfiler& profiler, const MetricPlan& plan, const std::vector<UserRange>& ranges);

/// What each range of a counter data image belongs to, in the image's order.
struct MeasuredRange {
  std::int64_t case_id = 0;  ///< 0: not written
  std::string part;
  std::string name;  ///< as pushed; empty when CUPTI named it (auto ranges)
};

/// The counters of one run: one metric plan, made at construction, and the path from counter data to the sink.
class CounterSession {
 public:
  /// Plans `metrics` for the device and writes the configuration and the refusals. No range profiler may exist.
  CounterSession(CollectRun& run, std::span<const std::string> metrics);

  const MetricPlan& plan() const { return plan_; }

  /// From here to WriteKernelRanges() every launch is a range, replayed once per pass.
  void StartKernelRanges(RangeProfiler& profiler, std::size_t most_launches) const;
  void WriteKernelRanges(RangeProfiler& profiler, const std::vector<MeasuredRange>& measured, bool keep_image);

  /// Evaluates every range of `data`, writes the ranges and, with `keep_image`, the image, and commits. Ranges that
  /// CUPTI dropped become DataLoss. Throws Error if a range does not have the name it was pushed with.
  void Write(CounterData data, const std::vector<MeasuredRange>& measured, bool keep_image);

 private:
  CollectRun& run_;
  MetricPlan plan_;
  std::int64_t config_id_;
};

}  // namespace fa_profile::collect
