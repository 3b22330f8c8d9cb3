#include "fa_profile/timeline_collector.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "fa_profile/error.h"
#include "fa_profile/timeline_metrics.h"
#include "fa_profile/units.h"

namespace fa_profile::collect {
namespace {

/// With 10 us between two samples an H200 lost none (driver 580.159.04).
constexpr std::int64_t kShortestIntervalNs = 10'000;
constexpr double kMostReadings = 1000.0;
constexpr double kFewestReadings = 10.0;
constexpr int kTimedCalls = 3;

std::int64_t IntervalFor(double call_ns) {
  return std::max(kShortestIntervalNs, static_cast<std::int64_t>(std::llround(call_ns / kMostReadings)));
}

/// An idle GPU reads and writes a little memory: activity means above this share of a metric's largest value.
constexpr double kActivePart = 0.01;

std::map<std::string, double> LargestValues(const std::vector<PmReading>& readings) {
  std::map<std::string, double> largest;
  for (const PmReading& reading : readings) {
    for (const auto& [metric, value] : reading.metrics) largest[metric] = std::max(largest[metric], value);
  }
  return largest;
}

/// From the first reading with activity to the one after the last, where a counter falls to its idle value.
std::vector<PmReading> BusyPart(std::vector<PmReading> readings, std::int64_t interval_ns) {
  // The first reading counts from when the sampler was opened: it is not a sample of the call.
  std::erase_if(readings,
                [&](const PmReading& reading) { return reading.end_ns - reading.start_ns > 2 * interval_ns; });
  std::ranges::stable_sort(readings, {}, &PmReading::start_ns);
  const std::map<std::string, double> largest = LargestValues(readings);
  const auto is_busy = [&](const PmReading& reading) {
    return std::ranges::any_of(
        reading.metrics, [&](const auto& metric) { return metric.second > kActivePart * largest.at(metric.first); });
  };
  readings.erase(readings.begin(), std::ranges::find_if(readings, is_busy));
  while (readings.size() > 1 && !is_busy(readings[readings.size() - 2])) readings.pop_back();
  return readings;
}

}  // namespace

double TimelineCollector::CallNs(const CollectJob& job) {
  const CallTiming timing = run_.gpu.Time([&job](StreamHandle stream) { job.workload->Launch(stream); }, kTimedCalls,
                                          [this] { run_.ThrowIfCancelled(); }, /*read_clock=*/false);
  return timing.durations_ns.empty() ? 0.0 : *std::ranges::min_element(timing.durations_ns);
}

void TimelineCollector::Lose(const char* kind, const CollectJob& job, const std::string& reason) {
  run_.sink.Write(DataLoss{kind, JobName(job), reason, 1});
}

void TimelineCollector::Write(const CollectJob& job, const Group& group, const std::vector<PmReading>& readings) {
  for (const TimelineMetric& metric : TimelineMetrics()) {
    if (metric.group != group.name) continue;
    for (const PmReading& reading : readings) {
      const auto value = reading.metrics.find(std::string(metric.cupti));
      if (value == reading.metrics.end() || reading.end_ns < reading.start_ns) continue;
      run_.sink.Write(PmSample{job.case_id, std::string(metric.id), reading.start_ns - readings.front().start_ns,
                               reading.end_ns - reading.start_ns, std::max(value->second, 0.0)});
    }
  }
}

void TimelineCollector::Sample(const CollectJob& job, const Group& group, std::int64_t interval_ns) {
  std::unique_ptr<PmSampler> sampler;
  try {
    sampler = run_.gpu.OpenPmSampler(group.metrics, interval_ns);
  } catch (const Error& error) {
    return Lose("timeline_unavailable", job, "metrics " + group.name + ": " + error.what());
  }
  sampler->Start();
  job.workload->Launch(run_.gpu.stream());
  run_.gpu.Synchronize();
  sampler->Stop();
  PmReadings taken = sampler->Take();
  if (taken.buffer_full) Lose("timeline_cut", job, "metrics " + group.name + ": the buffer was full");
  const std::vector<PmReading> readings = BusyPart(std::move(taken.readings), interval_ns);
  if (readings.empty()) return Lose("timeline_missing", job, "metrics " + group.name + ": no sample saw activity");
  Write(job, group, readings);
}

void TimelineCollector::Collect(const std::vector<CollectJob>& jobs) {
  std::vector<Group> groups;
  for (const TimelineMetric& metric : TimelineMetrics()) {
    if (groups.empty() || groups.back().name != metric.group) groups.push_back({std::string(metric.group), {}});
    groups.back().metrics.emplace_back(metric.cupti);
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    run_.Report("timeline", JobName(jobs[i]), i, jobs.size());
    const double call_ns = CallNs(jobs[i]);
    if (call_ns < kFewestReadings * static_cast<double>(kShortestIntervalNs)) {
      Lose("timeline_too_short", jobs[i],
           "the call takes " + FormatValue(call_ns * 1e-9, "seconds") + ", and a sample 10 us: take a larger shape");
      continue;
    }
    for (const Group& group : groups) {
      run_.ThrowIfCancelled();
      Sample(jobs[i], group, IntervalFor(call_ns));
    }
  }
  run_.sink.Commit();
  run_.Report("timeline", "", jobs.size(), jobs.size());
}

}  // namespace fa_profile::collect
