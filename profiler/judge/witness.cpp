#include "witness.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "fa_profile/error.h"

namespace fa_profile::judge {
namespace {

// Counters that share a pass (GH100). Chips of other generations lack some of the later ones.
struct Counter {
  const char* metric;
  DeviceCount::Field value;
};
constexpr Counter kCounters[] = {
    {"TPC.TriageCompute.sm__inst_executed_realtime.sum", &DeviceCounts::instructions},
    {"TPC.TriageCompute.sm__cycles_active.sum", &DeviceCounts::sm_cycles},
    {"TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.sum", &DeviceCounts::tensor_cycles},
    {"TPC.TriageCompute.sm__pipe_fp64_cycles_active_realtime.sum", &DeviceCounts::fp64_cycles},
    {"lts__t_sectors_srcunit_tex.sum", &DeviceCounts::l2_sectors},
    {"dramc__sectors_op_read.sum", &DeviceCounts::dram_sectors},
};
constexpr std::size_t kNeeded = 3;  // the first ones, required for every witness

constexpr std::int64_t kShortestIntervalNs = 20'000;  // 5 us overflows the hardware's buffer
constexpr double kMostReadings = 2400;                // for one piece of work: 64 MiB hold 2,900 (H100)
constexpr std::int64_t kSettleNs = 200'000;           // silence required at either end
// A reading with fewer cycles does not count as work: an idle GPU shows none at all.
constexpr double kQuietCycles = 1000;

double Value(const collect::PmReading& reading, const std::string& metric) {
  const auto found = reading.metrics.find(metric);
  return found == reading.metrics.end() || std::isnan(found->second) ? 0.0 : found->second;
}

DeviceCounts CountsOf(const collect::PmReading& reading) {
  DeviceCounts counts;
  for (const Counter& counter : kCounters) counts.*counter.value = Value(reading, counter.metric);
  return counts;
}

double SmCycles(const collect::PmReading& reading) { return Value(reading, kCounters[1].metric); }

bool IsBusy(const collect::PmReading& reading) { return SmCycles(reading) >= kQuietCycles; }

// With those counters that the chip has.
std::unique_ptr<collect::PmSampler> Open(collect::GpuApi& gpu, std::int64_t interval_ns) {
  std::vector<std::string> all;
  for (const Counter& counter : kCounters) all.emplace_back(counter.metric);
  try {
    return gpu.OpenPmSampler(all, interval_ns);
  } catch (const Error&) {  // find out which one is missing
  }
  std::vector<std::string> metrics(all.begin(), all.begin() + kNeeded);
  for (std::size_t i = kNeeded; i < all.size(); ++i) {
    metrics.push_back(all[i]);
    try {
      (void)gpu.OpenPmSampler(metrics, interval_ns);
    } catch (const Error&) {
      metrics.pop_back();
    }
  }
  return gpu.OpenPmSampler(metrics, interval_ns);
}

}  // namespace

Watched& operator+=(Watched& sum, const Watched& more) {
  sum.counts += more.counts;
  sum.busy_ns += more.busy_ns;
  sum.elapsed_ns += more.elapsed_ns;
  sum.quiet_before = sum.quiet_before && more.quiet_before;
  sum.quiet_after = sum.quiet_after && more.quiet_after;
  sum.complete = sum.complete && more.complete;
  return sum;
}

Watched SumReadings(const collect::PmReadings& taken, std::int64_t interval_ns, std::int64_t settle_ns) {
  Watched sum;
  std::vector<collect::PmReading> readings = taken.readings;
  std::ranges::stable_sort(readings, {}, &collect::PmReading::start_ns);
  // The first reading counts from before the start.
  std::erase_if(readings, [&](const auto& reading) { return reading.end_ns - reading.start_ns > 2 * interval_ns; });
  if (!readings.empty()) readings.erase(readings.begin());
  sum.complete = !taken.buffer_full && readings.size() > 2;
  if (readings.empty()) return sum;
  const auto first = std::ranges::find_if(readings, IsBusy);
  if (first == readings.end()) return sum;
  const auto last = std::find_if(readings.rbegin(), readings.rend(), IsBusy).base() - 1;
  sum.quiet_before = first->start_ns - readings.front().start_ns >= settle_ns / 2;
  sum.quiet_after = readings.back().end_ns - last->end_ns >= settle_ns / 2;
  double fullest = 0;
  for (auto reading = first; reading <= last; ++reading) {
    sum.counts += CountsOf(*reading);
    fullest = std::max(fullest, SmCycles(*reading));
  }
  // The first and the last reading were busy for part of their time, in proportion to their cycles.
  const double idle_parts = 2.0 - (SmCycles(*first) + SmCycles(*last)) / fullest;
  sum.busy_ns = static_cast<double>(last->end_ns - first->start_ns) - static_cast<double>(interval_ns) * idle_parts;
  return sum;
}

Witness::Witness(collect::GpuApi& gpu, double longest_ns)
    : interval_ns_(std::max(kShortestIntervalNs, static_cast<std::int64_t>(longest_ns / kMostReadings))),
      sampler_(Open(gpu, interval_ns_)) {}

double Witness::longest_ns() const { return static_cast<double>(interval_ns_) * kMostReadings; }

Watched Witness::Watch(const std::function<void()>& work, const std::function<void()>& read) {
  const std::chrono::nanoseconds settle(std::max(kSettleNs, 4 * interval_ns_));
  sampler_->Start();
  try {
    std::this_thread::sleep_for(settle);
    work();
    std::this_thread::sleep_for(settle);
    read();
  } catch (...) {
    sampler_->Stop();
    throw;
  }
  sampler_->Stop();
  return SumReadings(sampler_->Take(), interval_ns_, settle.count());
}

}  // namespace fa_profile::judge
