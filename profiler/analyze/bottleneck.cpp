#include "bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "derive.h"
#include "fa_profile/units.h"

namespace fa_profile::analyze {
namespace {

constexpr double kBoundRatio = 0.6;
constexpr double kLeastStall = 0.2;  // share of warp cycles; where few reasons were counted, the largest may be small
constexpr double kRoofRatio = 0.8;   // as in Nsight Compute's rules: above this only less work makes it faster

constexpr std::pair<const char*, const char*> kMemoryUnits[] = {
    {"DRAM", "dram_sol_ratio"}, {"L2", "l2_sol_ratio"}, {"L1", "l1_sol_ratio"}, {"memory", "memory_sol_ratio"}};

struct UsedUnit {
  const char* name;
  double ratio;  ///< relative to its peak
};

/// The most used part of the memory system. memory_sol_ratio, the largest of them and of smaller units, counts only if
/// it exceeds the others by more than the noise between passes.
UsedUnit BusiestMemory(const ProfileEntry& entry) {
  constexpr double kNoise = 0.05;
  UsedUnit busiest{"memory", 0.0};
  for (const auto& [name, metric] : kMemoryUnits) {
    const double ratio = Find(entry.metrics, metric).value_or(0.0);
    const bool is_whole = metric == kMemoryUnits[3].second;
    if (ratio > busiest.ratio + (is_whole ? kNoise : 0.0)) busiest = {name, ratio};
  }
  return busiest;
}

UsedUnit BusiestCompute(const ProfileEntry& entry) {
  const double sm = Find(entry.metrics, "compute_sol_ratio").value_or(0.0);
  const double tensor = Find(entry.metrics, "tensor_core_utilization_ratio").value_or(0.0);
  return tensor > sm ? UsedUnit{"tensor cores", tensor} : UsedUnit{"SM", sm};
}

std::string OfPeak(const UsedUnit& unit) { return fmt::format("{} {} of peak", unit.name, Percent(unit.ratio, 0)); }

}  // namespace

std::string BottleneckOf(const ProfileEntry& entry) {
  const auto memory = Find(entry.metrics, "memory_sol_ratio");
  if (!Find(entry.metrics, "compute_sol_ratio") || !memory) return {};
  const double compute = BusiestCompute(entry).ratio;
  if (std::max(compute, *memory) < kBoundRatio) return "latency";
  return compute >= *memory ? "compute" : "memory";
}

std::string BottleneckEvidence(const ProfileEntry& entry) {
  if (entry.bottleneck.empty()) return {};
  const UsedUnit memory = BusiestMemory(entry);
  const UsedUnit compute = BusiestCompute(entry);
  if (entry.bottleneck == "latency") {
    const UsedUnit nearest = compute.ratio >= memory.ratio ? compute : memory;
    const auto stall = std::ranges::find_if(entry.stalls, [](const auto& share) { return share.reason != "selected"; });
    if (stall == entry.stalls.end() || stall->ratio < kLeastStall) return "latency: " + OfPeak(nearest);
    return fmt::format("latency: {} {}, {}", stall->reason, Percent(stall->ratio, 0), OfPeak(nearest));
  }
  const UsedUnit unit = entry.bottleneck == "memory" ? memory : compute;
  return OfPeak(unit) + (unit.ratio >= kRoofRatio ? ": at its roof" : ": the nearest limit");
}

}  // namespace fa_profile::analyze
