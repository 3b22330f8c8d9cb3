#include "fa_profile/program_totals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
  launch.graph = work.graph;
  return launch;
}

std::int64_t Weighted(std::int64_t number, double weight) {
  return static_cast<std::int64_t>(std::llround(static_cast<double>(number) * weight));
}

// "32"; "(32, 16)" or "(32, 16, 4)" if a later dimension is over 1.
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
  // Both are bounded: changing names must not fill the program's memory.
  if (by_pointer_.size() >= 4 * kMostClasses) by_pointer_.clear();
  by_pointer_.insert_or_assign(key, index);
  return index;
}

ProgramTotals::Added ProgramTotals::Add(const GpuWork& work) {
  if (work.device != device_) {
    ++lost_.other_devices;
    return {};
  }
  if (work.start_ns <= 0 || work.end_ns < work.start_ns) {
    ++lost_.without_times;
    return {};
  }
  if (work.graph != 0 && graphs_.RanInPause(work)) {  // its launch was requested, and counted then
    graphs_.AddCut(work);
    return {};
  }
  intervals_.emplace_back(work.start_ns, work.end_ns);
  if (intervals_.size() >= (std::size_t{1} << 20U)) {  // 16 MiB: fold what is there
    const std::int64_t busy = TakeBusyTime();
    intervals_.emplace_back(busy_until_ns_ - busy, busy_until_ns_);
    busy_until_ns_ -= busy;
    busy_total_ns_ -= busy;
  }
  if (work.kind == GpuWork::Kind::kKernel) return AddKernel(work);
  MemoryWork& memory = memory_[work.name];
  ++memory.operations;
  memory.bytes += work.bytes;
  memory.total_ns += work.end_ns - work.start_ns;
  return {true};
}

ProgramTotals::Added ProgramTotals::AddKernel(const GpuWork& work) {
  const std::int64_t duration_ns = work.end_ns - work.start_ns;
  const std::optional<std::size_t> index = FindClass(work);
  if (!index) {
    ++lost_.beyond_classes;
    return {};
  }
  LaunchClass& launch_class = classes_[*index];
  ClassWindow& row = window_[*index];
  const std::int64_t before = row.alone.launches + row.in_graphs.launches;
  row.min_ns = before == 0 ? duration_ns : std::min(row.min_ns, duration_ns);
  row.max_ns = std::max(row.max_ns, duration_ns);
  WorkSum& sum = work.graph == 0 ? row.alone : row.in_graphs;
  ++sum.launches;
  sum.total_ns += duration_ns;
  ++launch_class.launches;
  launch_class.total_ns += duration_ns;
  kernel_ns_ += duration_ns;
  if (work.graph != 0) {
    ++launch_class.graph_launches;
    graphs_.Add(work, *index, launch_class.collective);
  } else {
    launch_class.alone_ns += duration_ns;
  }
  // Reservoir sampling (Vitter's algorithm R): every launch of the window is kept with the same probability.
  std::vector<double>& kept = row.durations_ns;
  if (kept.size() < kSampledDurations) {
    kept.push_back(static_cast<double>(duration_ns));
    return {true, index};
  }
  random_ = random_ * 6364136223846793005U + 1442695040888963407U;
  const std::uint64_t place = (random_ >> 33U) % static_cast<std::uint64_t>(before + 1);
  if (place < kept.size()) kept[place] = static_cast<double>(duration_ns);
  return {true, index};
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
  busy_total_ns_ += busy_ns;
  return busy_ns;
}

void ProgramTotals::AddRow(Window& window, std::size_t index, WorkSum alone, WorkSum in_graphs) {
  ClassWindow taken = std::exchange(window_[index], {});
  KernelWork row;
  row.case_id = static_cast<std::int64_t>(index);
  row.launches = alone.launches + in_graphs.launches;
  row.graph_launches = in_graphs.launches;
  row.total_ns = alone.total_ns + in_graphs.total_ns;
  if (row.launches == 0) return;
  row.min_ns = taken.durations_ns.empty() ? row.total_ns / row.launches : taken.min_ns;
  row.max_ns = taken.durations_ns.empty() ? row.min_ns : taken.max_ns;
  window.kernels.push_back(row);
  if (!taken.durations_ns.empty()) window.durations_ns.emplace(index, std::move(taken.durations_ns));
}

void ProgramTotals::AddMemory(Window& window, double ratio) {
  for (auto& [kind, memory] : memory_) {
    memory.kind = kind;
    memory.operations = Weighted(memory.operations, ratio);
    memory.bytes = Weighted(memory.bytes, ratio);
    memory.total_ns = Weighted(memory.total_ns, ratio);
    window.memory.push_back(memory);
  }
  memory_.clear();
}

// A launch call does not show the cluster.
std::vector<std::size_t> ProgramTotals::Stratum(const std::string& name, const std::array<int, 6>& sizes) const {
  std::array<int, 9> first{};
  std::copy(sizes.begin(), sizes.end(), first.begin());
  std::vector<std::size_t> stratum;
  for (auto at = by_name_.lower_bound({name, first}); at != by_name_.end() && at->first.first == name &&
                                                      std::equal(sizes.begin(), sizes.end(), at->first.second.begin());
       ++at) {
    stratum.push_back(at->second);
  }
  return stratum;
}

void ProgramTotals::BeginCount() {
  graphs_.BeginCount();
  for (LaunchClass& entry : classes_) entry.alone_before = entry.launches - entry.graph_launches;
}

void ProgramTotals::Owe(const AskedLaunches& asked) {
  graphs_.Owe(asked.graphs);
  for (const auto& [kernel, launches] : asked.kernels) {
    std::int64_t recorded = 0;
    for (const std::size_t index : Stratum(kernel.first, kernel.second)) {
      const LaunchClass& entry = classes_[index];
      recorded += entry.launches - entry.graph_launches - entry.alone_before;
    }
    if (launches > recorded) owed_[kernel] += launches - recorded;
  }
}

ProgramTotals::Estimates ProgramTotals::EstimateAlone(const AskedLaunches& asked) {
  Estimates rows(classes_.size());
  std::vector<bool> done(classes_.size());
  asked_.resize(classes_.size());
  for (const auto& [kernel, launches] : asked.kernels) owed_[kernel] += launches;
  for (auto owed = owed_.begin(); owed != owed_.end();) {
    const auto& [name, sizes] = owed->first;
    const std::vector<std::size_t> stratum = Stratum(name, sizes);
    double in_window = 0.0;
    double in_all = 0.0;
    for (const std::size_t index : stratum) {
      in_window += static_cast<double>(window_[index].alone.launches);
      in_all += static_cast<double>(classes_[index].launches - classes_[index].graph_launches);
    }
    if (in_all == 0.0) {
      ++owed;
      continue;
    }
    const double wanted = std::max(static_cast<double>(owed->second), in_window);
    if (in_window == 0.0) lost_.from_before += wanted;
    for (const std::size_t index : stratum) {
      const LaunchClass& member = classes_[index];
      const WorkSum known =
          in_window > 0.0 ? window_[index].alone : WorkSum{member.launches - member.graph_launches, member.alone_ns};
      const double weight = wanted / (in_window > 0.0 ? in_window : in_all);
      rows[index] = {weight * static_cast<double>(known.launches), weight * static_cast<double>(known.total_ns)};
      done[index] = asked_[index] = true;
    }
    owed = owed_.erase(owed);
  }
  // A class that was never requested counts as recorded. If it was requested before, its records come late: it has been
  // counted.
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const WorkSum& alone = window_[i].alone;
    if (!done[i] && !asked_[i]) rows[i] = {static_cast<double>(alone.launches), static_cast<double>(alone.total_ns)};
  }
  for (; owed_.size() > kMostClasses; owed_.erase(owed_.begin())) lost_.never_recorded += owed_.begin()->second;
  return rows;
}

ProgramTotals::Window ProgramTotals::Estimate(const AskedLaunches& asked) {
  Window window;
  const Estimates alone = EstimateAlone(asked);
  GraphLaunches::Estimate graphs = graphs_.TakeWindow(asked.graphs);
  window.weights.graphs = std::move(graphs.weights);
  window.graph_cut = graphs.cut;
  lost_.from_before += graphs.from_before;
  lost_.elsewhere += asked.elsewhere;
  double recorded_ns = 0.0;
  double recorded_alone_ns = 0.0;
  double all_ns = 0.0;
  double all_alone_ns = 0.0;
  for (std::size_t i = 0; i < window_.size(); ++i) {
    recorded_alone_ns += static_cast<double>(window_[i].alone.total_ns);
    recorded_ns += static_cast<double>(window_[i].alone.total_ns + window_[i].in_graphs.total_ns);
    const auto of_graphs = graphs.classes.find(i);
    const std::pair<double, double> in_graphs =
        of_graphs == graphs.classes.end() ? std::pair(0.0, 0.0) : of_graphs->second;
    all_alone_ns += alone[i].second;
    all_ns += alone[i].second + in_graphs.second;
    lost_.estimated += alone[i].first + in_graphs.first;
    AddRow(window, i, {std::llround(alone[i].first), std::llround(alone[i].second)},
           {std::llround(in_graphs.first), std::llround(in_graphs.second)});
  }
  if (recorded_alone_ns > 0.0) window.weights.kernels = all_alone_ns / recorded_alone_ns;
  // Assume that unrecorded work overlaps as much, with as many copies and sets per kernel.
  const std::int64_t busy_ns = TakeBusyTime();
  const double others = recorded_ns > 0.0            ? all_ns / recorded_ns
                        : asked.recorded_ratio > 0.0 ? 1.0 / asked.recorded_ratio
                                                     : 1.0;
  window.busy_ns = Weighted(busy_ns, others);
  // No kernels were recorded: assume that they overlap as before.
  if (recorded_ns == 0.0 && all_ns > 0.0) {
    const double overlap =
        static_cast<double>(busy_total_ns_) / static_cast<double>(std::max<std::int64_t>(kernel_ns_, 1));
    window.busy_ns = std::llround(all_ns * std::min(overlap, 1.0));
  }
  AddMemory(window, others);
  return window;
}

ProgramTotals::Window ProgramTotals::TakeWindow(const AskedLaunches* asked) {
  if (asked != nullptr) return Estimate(*asked);
  Window window;
  (void)graphs_.TakeWindow({});
  for (std::size_t i = 0; i < window_.size(); ++i) AddRow(window, i, window_[i].alone, window_[i].in_graphs);
  window.busy_ns = TakeBusyTime();
  AddMemory(window, 1.0);
  return window;
}

ProgramTotals::Lost ProgramTotals::lost() const {
  Lost lost = lost_;
  lost.never_recorded += graphs_.never_complete();
  for (const auto& [kernel, launches] : owed_) lost.never_recorded += launches;
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
