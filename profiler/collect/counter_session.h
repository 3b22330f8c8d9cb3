#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fa_profile/metric_host.h"
#include "fa_profile/recording.h"
#include "range_profiler.h"

namespace fa_profile {

/// What a range of a counter data image belongs to, in the image's order.
struct MeasuredRange {
  std::int64_t case_id = 0;
  std::string part;
  std::string name;  ///< as pushed; empty when CUPTI named it (auto ranges)
};

/// The counters of one run: one metric plan, made at construction, and the way from counter data to the sink.
class CounterSession {
 public:
  /// Plans `metrics` for the current device and writes the configuration and what was refused. `device`, `sink` and
  /// `next_id` outlive the session.
  CounterSession(const Device& device, std::span<const std::string> metrics, const std::string& cache_dir,
                 RecordingSink& sink, std::int64_t& next_id);

  const MetricPlan& plan() const { return plan_; }

  /// Evaluates every range of `data`, writes the ranges and, when `keep_image`, the image, and commits. Ranges that
  /// CUPTI dropped become DataLoss. Throws Error when a range does not bear the name it was pushed with.
  void Write(CounterData data, const std::vector<MeasuredRange>& measured, bool keep_image);

 private:
  RecordingSink& sink_;
  std::int64_t& next_id_;
  MetricPlan plan_;
  MetricEvaluator evaluator_;
  std::int64_t config_id_;
};

}  // namespace fa_profile
