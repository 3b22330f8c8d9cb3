#include "call_timeline.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "fa_profile/timeline_metrics.h"

namespace fa_profile::analyze {
namespace {

/// As in the collector: an idle GPU reads and writes a little memory.
constexpr double kActivePart = 0.01;
constexpr double kTailParts[] = {0.9, 0.5};
constexpr std::string_view kSmActivity = "sm_active";

bool IsUsable(const PmSample& sample) {
  return sample.start_ns >= 0 && sample.duration_ns > 0 &&
         sample.start_ns <= std::numeric_limits<std::int64_t>::max() - sample.duration_ns &&
         std::isfinite(sample.value) && sample.value >= 0.0;
}

std::int64_t EndOf(const CallSample& sample) { return sample.start_ns + sample.duration_ns; }

std::vector<CallSeries> SeriesOf(const std::vector<const PmSample*>& samples) {
  std::map<std::string_view, std::vector<CallSample>> by_metric;
  for (const PmSample* const sample : samples) {
    if (IsUsable(*sample)) {
      by_metric[sample->metric].push_back({sample->start_ns, sample->duration_ns, sample->value / 100.0});
    }
  }
  std::vector<CallSeries> all;
  for (const TimelineMetric& metric : TimelineMetrics()) {
    const auto found = by_metric.find(metric.id);
    if (found == by_metric.end()) continue;
    CallSeries series{std::string(metric.id), std::move(found->second), 0.0, 0.0};
    std::ranges::stable_sort(series.samples, {}, &CallSample::start_ns);
    series.largest_ratio = std::ranges::max_element(series.samples, {}, &CallSample::ratio)->ratio;
    all.push_back(std::move(series));
  }
  return all;
}

std::string_view GroupOf(const CallSeries& series) { return FindTimelineMetric(series.metric)->group; }

/// When the launch of each group was over; 0: none of its metrics was above 0.
std::map<std::string_view, std::int64_t> ActiveEnds(const std::vector<CallSeries>& all) {
  std::map<std::string_view, std::int64_t> ends;
  for (const CallSeries& series : all) {
    std::int64_t& end = ends[GroupOf(series)];
    for (const CallSample& sample : series.samples) {
      if (sample.ratio > kActivePart * series.largest_ratio) end = std::max(end, EndOf(sample));
    }
  }
  return ends;
}

double MeanUntil(std::int64_t end_ns, const std::vector<CallSample>& samples) {
  double weighted = 0.0;
  double duration_ns = 0.0;
  for (const CallSample& sample : samples) {
    if (sample.start_ns >= end_ns) break;
    weighted += sample.ratio * static_cast<double>(sample.duration_ns);
    duration_ns += static_cast<double>(sample.duration_ns);
  }
  return duration_ns > 0.0 ? weighted / duration_ns : 0.0;
}

CallTail TailBelow(double part, const CallSeries& series, std::int64_t end_ns) {
  CallTail tail{part, 0, 0, 0.0, 0};
  for (const CallSample& sample : series.samples) {
    if (sample.start_ns >= end_ns) break;
    ++tail.samples;
    if (sample.ratio < part * series.largest_ratio) continue;
    tail.samples = 0;
    tail.start_ns = std::min(EndOf(sample), end_ns);
  }
  tail.duration_ns = end_ns - tail.start_ns;
  tail.share_ratio = static_cast<double>(tail.duration_ns) / static_cast<double>(end_ns);
  return tail;
}

}  // namespace

std::optional<CallTimeline> CallTimelineOf(const std::vector<const PmSample*>& samples) {
  CallTimeline timeline;
  timeline.series = SeriesOf(samples);
  if (timeline.series.empty()) return std::nullopt;
  const std::map<std::string_view, std::int64_t> ends = ActiveEnds(timeline.series);
  for (CallSeries& series : timeline.series) {
    const std::int64_t end_ns = ends.at(GroupOf(series));
    timeline.active_ns = std::max(timeline.active_ns, end_ns);
    series.mean_ratio = MeanUntil(end_ns, series.samples);
    if (series.metric != kSmActivity || series.largest_ratio <= 0.0) continue;
    for (const double part : kTailParts) timeline.tails.push_back(TailBelow(part, series, end_ns));
  }
  return timeline;
}

std::int64_t LeftOutOf(const std::vector<const PmSample*>& samples) {
  return std::ranges::count_if(samples, [](const PmSample* sample) {
    return !IsUsable(*sample) || FindTimelineMetric(sample->metric) == nullptr;
  });
}

}  // namespace fa_profile::analyze
