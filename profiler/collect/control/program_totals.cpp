#include "fa_profile/program_totals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
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

std::int64_t Weighted(std::int64_t number, double weight) {
  return static_cast<std::int64_t>(std::llround(static_cast<double>(number) * weight));
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

bool ProgramTotals::Add(const GpuWork& work) {
  if (work.device != device_) {
    ++lost_.other_devices;
    return false;
  }
  if (work.start_ns <= 0 || work.end_ns < work.start_ns) {
    ++lost_.without_times;
    return false;
  }
  if (RanInPause(work)) return false;  // its launch was asked for, which is counted
  intervals_.emplace_back(work.start_ns, work.end_ns);
  if (intervals_.size() >= (std::size_t{1} << 20U)) {  // 16 MiB: fold what is there
    const std::int64_t busy = TakeBusyTime();
    intervals_.emplace_back(busy_until_ns_ - busy, busy_until_ns_);
    busy_until_ns_ -= busy;
  }
  if (work.kind == GpuWork::Kind::kKernel) return AddKernel(work);
  MemoryWork& memory = memory_[work.name];
  ++memory.operations;
  memory.bytes += work.bytes;
  memory.total_ns += work.end_ns - work.start_ns;
  return true;
}

void ProgramTotals::AddToGraph(const GpuWork& work, bool collective) {
  Graph& graph = graphs_[work.graph];
  GraphWindow& window = graphs_recorded_[work.graph];
  if (graph.kernels == 0 || graph.last_correlation != work.correlation) {
    ++graph.launches;
    ++window.launches;
    // Of a launch that ran when recording began or ended, some kernels are missing. Two such do not follow each other.
    if (const std::int64_t each = graph.kernels_of_launch; each > 0 && each == graph.kernels_before) {
      graph.varies = graph.varies || (graph.kernels_of_each != 0 && graph.kernels_of_each != each);
      graph.kernels_of_each = each;
    }
    graph.kernels_before = std::exchange(graph.kernels_of_launch, 0);
  }
  graph.last_correlation = work.correlation;
  ++graph.kernels_of_launch;
  ++graph.kernels;
  ++window.kernels;
  graph.collective = graph.collective || collective;
  graph.total_ns += work.end_ns - work.start_ns;
}

bool ProgramTotals::AddKernel(const GpuWork& work) {
  const std::int64_t duration_ns = work.end_ns - work.start_ns;
  const std::optional<std::size_t> index = FindClass(work);
  if (!index) {
    ++lost_.beyond_classes;
    return false;
  }
  LaunchClass& launch_class = classes_[*index];
  ClassWindow& row = window_[*index];
  row.min_ns = row.launches == 0 ? duration_ns : std::min(row.min_ns, duration_ns);
  row.max_ns = std::max(row.max_ns, duration_ns);
  ++row.launches;
  Sum& sum = row.sums[work.graph];
  ++sum.launches;
  sum.total_ns += duration_ns;
  ++launch_class.launches;
  launch_class.total_ns += duration_ns;
  kernel_ns_ += duration_ns;
  if (work.graph != 0) {
    ++launch_class.graph_launches;
    AddToGraph(work, launch_class.collective);
  }
  // Reservoir sampling (Vitter's algorithm R): every launch of the window is kept with the same probability.
  std::vector<double>& kept = row.durations_ns;
  if (kept.size() < kSampledDurations) {
    kept.push_back(static_cast<double>(duration_ns));
    return true;
  }
  random_ = random_ * 6364136223846793005U + 1442695040888963407U;
  const std::uint64_t place = (random_ >> 33U) % static_cast<std::uint64_t>(row.launches);
  if (place < kept.size()) kept[place] = static_cast<double>(duration_ns);
  return true;
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

void ProgramTotals::Pause(std::int64_t now_ns) {
  constexpr std::size_t kMostPauses = 64;  // their records have long come
  if (pauses_.size() == kMostPauses) pauses_.erase(pauses_.begin());
  pauses_.emplace_back(now_ns, std::numeric_limits<std::int64_t>::max());
}

void ProgramTotals::Resume(std::int64_t now_ns) {
  if (!pauses_.empty()) pauses_.back().second = now_ns;
}

bool ProgramTotals::RanInPause(const GpuWork& work) const {
  if (work.graph == 0) return false;
  return std::ranges::any_of(
      pauses_, [&](const auto& pause) { return work.start_ns < pause.second && work.end_ns > pause.first; });
}

// What was asked for and not recorded in this window is owed to the next one that has a record of its kind.
LaunchWeights ProgramTotals::TakeWeights(const AskedLaunches* asked) {
  LaunchWeights weights;
  const std::map<std::uint32_t, GraphWindow> recorded = std::exchange(graphs_recorded_, {});
  if (asked == nullptr) return weights;
  const auto weigh = [](std::int64_t wanted, std::int64_t seen) {
    return std::max(1.0, static_cast<double>(wanted) / static_cast<double>(seen));
  };
  std::int64_t kernels = 0;
  for (const ClassWindow& row : window_) {
    if (const auto sum = row.sums.find(0); sum != row.sums.end()) kernels += sum->second.launches;
  }
  owed_.kernels += asked->kernels;
  if (kernels > 0) weights.kernels = weigh(std::exchange(owed_.kernels, 0), kernels);
  for (const auto& [graph, launches] : asked->graphs) owed_.graphs[graph] += launches;
  for (const auto& [id, window] : recorded) {
    const auto owed = owed_.graphs.find(id);
    if (owed == owed_.graphs.end()) continue;  // launched by the device, or before launches were counted
    const Graph& graph = graphs_[id];
    const bool known = graph.kernels_of_each > 0 && !graph.varies;
    weights.graphs.emplace(
        id, known ? weigh(owed->second * graph.kernels_of_each, window.kernels) : weigh(owed->second, window.launches));
    owed_.graphs.erase(owed);
  }
  // A program that makes graphs for ever must not fill its memory with them.
  while (owed_.graphs.size() > kMostClasses) {
    lost_.never_recorded += owed_.graphs.begin()->second;
    owed_.graphs.erase(owed_.graphs.begin());
  }
  return weights;
}

ProgramTotals::Window ProgramTotals::TakeWindow(const AskedLaunches* asked) {
  Window window;
  window.weights = TakeWeights(asked);
  double recorded_ns = 0.0;
  double all_ns = 0.0;
  for (std::size_t i = 0; i < window_.size(); ++i) {
    if (window_[i].launches == 0) continue;
    ClassWindow taken = std::exchange(window_[i], {});
    KernelWork row;
    row.case_id = static_cast<std::int64_t>(i);
    row.min_ns = taken.min_ns;
    row.max_ns = taken.max_ns;
    for (const auto& [graph, sum] : taken.sums) {
      const double weight = window.weights.Of(graph);
      const std::int64_t launches = Weighted(sum.launches, weight);
      row.launches += launches;
      if (graph != 0) row.graph_launches += launches;
      row.total_ns += Weighted(sum.total_ns, weight);
      recorded_ns += static_cast<double>(sum.total_ns);
    }
    all_ns += static_cast<double>(row.total_ns);
    window.kernels.push_back(row);
    window.durations_ns.emplace(i, std::move(taken.durations_ns));
  }
  // In what was not recorded, work overlaps as much, and there are as many copies and sets for each kernel.
  const double others = recorded_ns > 0.0 ? all_ns / recorded_ns : 1.0;
  window.busy_ns = Weighted(TakeBusyTime(), others);
  for (auto& [kind, memory] : memory_) {
    memory.kind = kind;
    memory.operations = Weighted(memory.operations, others);
    memory.bytes = Weighted(memory.bytes, others);
    memory.total_ns = Weighted(memory.total_ns, others);
    window.memory.push_back(memory);
  }
  memory_.clear();
  return window;
}

ProgramTotals::Lost ProgramTotals::lost() const {
  Lost lost = lost_;
  lost.never_recorded += owed_.kernels;
  for (const auto& [graph, launches] : owed_.graphs) lost.never_recorded += launches;
  return lost;
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
