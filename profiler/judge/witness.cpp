#include "witness.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <thread>

namespace fa_profile::judge {
namespace {

// One group of counters, which share a pass.
const std::string kInstructions = "TPC.TriageCompute.sm__inst_executed_realtime.sum";
const std::string kSmCycles = "TPC.TriageCompute.sm__cycles_active.sum";
const std::string kTensorCycles = "TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.sum";

constexpr std::int64_t kShortestIntervalNs = 20'000;  // 5 us overflows the hardware's buffer
constexpr double kMostReadings = 4000;                // of one piece of work: 64 MiB hold over 5,000 (H100)
constexpr std::int64_t kSettleNs = 200'000;           // of silence at either end
// Fewer cycles in a reading do not count as work: an idle GPU shows none at all.
constexpr double kQuietCycles = 1000;

double Value(const collect::PmReading& reading, const std::string& metric) {
  const auto found = reading.metrics.find(metric);
  return found == reading.metrics.end() ? 0.0 : found->second;
}

bool IsBusy(const collect::PmReading& reading) { return Value(reading, kSmCycles) >= kQuietCycles; }

}  // namespace

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
    sum.instructions += Value(*reading, kInstructions);
    sum.tensor_cycles += Value(*reading, kTensorCycles);
    sum.sm_cycles += Value(*reading, kSmCycles);
    fullest = std::max(fullest, Value(*reading, kSmCycles));
  }
  // The first and the last reading were busy for a part of their time: as much as their cycles are of a full one's.
  const double idle_parts = 2.0 - (Value(*first, kSmCycles) + Value(*last, kSmCycles)) / fullest;
  sum.busy_ns = static_cast<double>(last->end_ns - first->start_ns) - static_cast<double>(interval_ns) * idle_parts;
  return sum;
}

Witness::Witness(collect::GpuApi& gpu, double longest_ns)
    : interval_ns_(std::max(kShortestIntervalNs, static_cast<std::int64_t>(longest_ns / kMostReadings))),
      sampler_(gpu.OpenPmSampler(std::array{kInstructions, kSmCycles, kTensorCycles}, interval_ns_)) {}

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
