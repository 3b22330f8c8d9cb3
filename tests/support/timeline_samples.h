#pragma once

#include <cstdint>
#include <string>

#include "fa_profile/recording.h"
#include "fa_profile/timeline_metrics.h"

/// Data that --timeline adds to a recording, made by hand. Its numbers are not measurements.
namespace fa_profile::sample {

/// A sample every 10 us of every metric, over 1 ms. SMs are active in full for 0.8 ms, by 60 % for 160 us, and by 30 %
/// for the last 40 us. Others read 50 %; DRAM writes pause from 0.4 to 0.5 ms, and L2 reads one sample longer.
inline void AddTimeline(Recording& recording, std::int64_t case_id) {
  constexpr std::int64_t kIntervalNs = 10'000;
  for (const TimelineMetric& metric : TimelineMetrics()) {
    const int samples = metric.id == "l2" ? 101 : 100;
    for (int i = 0; i < samples; ++i) {
      if (metric.id == "dram_write" && i >= 40 && i < 50) continue;
      const double value = metric.id != "sm_active" ? 50.0 : i < 80 ? 100.0 : i < 96 ? 60.0 : 30.0;
      recording.pm_samples.push_back({case_id, std::string(metric.id), i * kIntervalNs, kIntervalNs, value});
    }
  }
}

}  // namespace fa_profile::sample
