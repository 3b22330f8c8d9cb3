#include "fa_profile/program_totals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "fa_profile/demangle.h"

namespace fa_profile::collect {
namespace {

std::array<int, 9> Sizes(const GpuWork& work) {
  return {work.grid[0],  work.grid[1],    work.grid[2],    work.block[0],  work.block[1],
          work.block[2], work.cluster[0], work.cluster[1], work.cluster[2]};
}

Launch FirstLaunch(const GpuWork& work) {
  Launch launch;
  launch.kernel_name = work.name;
  launch.grid = work.grid;
  launch.block = work.block;
  launch.cluster = work.cluster;
  launch.registers_per_thread = work.registers_per_thread;
  launch.static_shared_memory_bytes = work.static_shared_memory_bytes;
  launch.dynamic_shared_memory_bytes = work.dynamic_shared_memory_bytes;
  launch.local_memory_per_thread_bytes = work.local_memory_per_thread_bytes;
  launch.shared_memory_config_bytes = work.shared_memory_config_bytes;
  launch.stream = work.stream;
  launch.correlation = work.correlation;
  launch.start_ns = work.start_ns;
  launch.end_ns = work.end_ns;
  return launch;
}

// "32", or "(32, 16)" and "(32, 16, 4)" where more than one is over 1.
std::string Size(const std::array<int, 3>& size) {
  if (size[2] > 1) return fmt::format("({}, {}, {})", size[0], size[1], size[2]);
  return size[1] > 1 ? fmt::format("({}, {})", size[0], size[1]) : fmt::format("{}", size[0]);
}

}  // namespace

std::size_t ProgramTotals::KeyHash::operator()(const Key& key) const noexcept {
  std::size_t hash = reinterpret_cast<std::size_t>(key.name);
  for (const int size : key.sizes) hash = (hash ^ static_cast<std::size_t>(size)) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 29U);
}

std::optional<std::size_t> ProgramTotals::FindClass(const GpuWork& work) {
  const Key key{work.name, Sizes(work)};
  const auto known = by_pointer_.find(key);
  if (known != by_pointer_.end() && classes_[known->second].launch.kernel_name == work.name) return known->second;
  const auto named = by_name_.find({work.name, key.sizes});
  if (named == by_name_.end() && classes_.size() >= kMostClasses) return std::nullopt;
  std::size_t index = classes_.size();
  if (named != by_name_.end()) {
    index = named->second;
  } else {
    by_name_.emplace(std::pair(work.name, key.sizes), index);
    classes_.push_back({FirstLaunch(work), 0, 0, 0, IsCollective(work.name)});
    window_.emplace_back();
  }
  // Both are bounded: names that come and go must not fill the program's memory.
  if (by_pointer_.size() >= 4 * kMostClasses) by_pointer_.clear();
  by_pointer_.insert_or_assign(key, index);
  return index;
}

void ProgramTotals::Add(const GpuWork& work) {
  if (work.device != device_) {
    ++lost_.other_devices;
    return;
  }
  if (work.start_ns <= 0 || work.end_ns < work.start_ns) {
    ++lost_.without_times;
    return;
  }
  intervals_.emplace_back(work.start_ns, work.end_ns);
  if (intervals_.size() >= (std::size_t{1} << 20U)) {  // 16 MiB: fold what is there
    const std::int64_t busy = TakeBusyTime();
    intervals_.emplace_back(busy_until_ns_ - busy, busy_until_ns_);
    busy_until_ns_ -= busy;
  }
  if (work.kind == GpuWork::Kind::kKernel) {
    AddKernel(work);
    return;
  }
  MemoryWork& memory = memory_[work.name];
  ++memory.operations;
  memory.bytes += work.bytes;
  memory.total_ns += work.end_ns - work.start_ns;
}

void ProgramTotals::AddKernel(const GpuWork& work) {
  const std::int64_t duration_ns = work.end_ns - work.start_ns;
  const std::optional<std::size_t> index = FindClass(work);
  if (!index) {
    ++lost_.beyond_classes;
    return;
  }
  LaunchClass& launch_class = classes_[*index];
  KernelWork& row = window_[*index].work;
  row.min_ns = row.launches == 0 ? duration_ns : std::min(row.min_ns, duration_ns);
  row.max_ns = std::max(row.max_ns, duration_ns);
  ++row.launches;
  ++launch_class.launches;
  row.total_ns += duration_ns;
  launch_class.total_ns += duration_ns;
  kernel_ns_ += duration_ns;
  if (work.graph != 0) {
    ++row.graph_launches;
    ++launch_class.graph_launches;
    Graph& graph = graphs_[work.graph];
    if (graph.kernels == 0 || graph.last_correlation != work.correlation) ++graph.launches;
    graph.last_correlation = work.correlation;
    ++graph.kernels;
    graph.collective = graph.collective || launch_class.collective;
    graph.total_ns += duration_ns;
  }
  // Reservoir sampling (Vitter's algorithm R): every launch of the window is kept with the same probability.
  std::vector<double>& kept = window_[*index].durations_ns;
  if (kept.size() < kSampledDurations) {
    kept.push_back(static_cast<double>(duration_ns));
    return;
  }
  random_ = random_ * 6364136223846793005U + 1442695040888963407U;
  const std::uint64_t place = (random_ >> 33U) % static_cast<std::uint64_t>(row.launches);
  if (place < kept.size()) kept[place] = static_cast<double>(duration_ns);
}

// The length of the union of the intervals, without what an earlier window has counted.
std::int64_t ProgramTotals::TakeBusyTime() {
  std::sort(intervals_.begin(), intervals_.end());
  std::int64_t busy_ns = 0;
  for (const auto& [start, end] : intervals_) {
    const std::int64_t from = std::max(start, busy_until_ns_);
    if (end <= from) continue;
    busy_ns += end - from;
    busy_until_ns_ = end;
  }
  intervals_.clear();
  return busy_ns;
}

ProgramTotals::Window ProgramTotals::TakeWindow() {
  Window window;
  window.busy_ns = TakeBusyTime();
  for (std::size_t i = 0; i < window_.size(); ++i) {
    if (window_[i].work.launches == 0) continue;
    ClassWindow taken = std::exchange(window_[i], {});
    taken.work.case_id = static_cast<std::int64_t>(i);
    window.kernels.push_back(taken.work);
    window.durations_ns.emplace(i, std::move(taken.durations_ns));
  }
  for (auto& [kind, memory] : memory_) {
    memory.kind = kind;
    window.memory.push_back(memory);
  }
  memory_.clear();
  return window;
}

bool IsCollective(std::string_view name) {
  static constexpr std::string_view kParts[] = {"nccl",
                                                "NCCL",
                                                "nvshmem",
                                                "NVSHMEM",
                                                "multimem_",
                                                "cross_device_reduce",
                                                "one_shot_all_reduce",
                                                "two_shot_all_reduce"};
  return std::any_of(std::begin(kParts), std::end(kParts),
                     [name](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

std::string LaunchClassName(const std::string& demangled, const Launch& launch) {
  std::string name = ShortName(demangled);
  name += "<<<" + Size(launch.grid) + ", " + Size(launch.block);
  if (launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 1) name += ", cluster " + Size(launch.cluster);
  return name + ">>>";
}

}  // namespace fa_profile::collect
