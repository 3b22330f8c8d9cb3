#include "fa_profile/graph_launches.h"

#include <algorithm>
#include <limits>

namespace fa_profile::collect {
namespace {

// Records of one launch may be interleaved with those of the next ones.
constexpr std::size_t kOpenLaunches = 4;

void AddSum(std::vector<WorkSum>& sums, std::size_t slot, WorkSum more) {
  if (sums.size() <= slot) sums.resize(slot + 1);
  sums[slot].launches += more.launches;
  sums[slot].total_ns += more.total_ns;
}

}  // namespace

void GraphLaunches::Pause(std::int64_t now_ns) {
  constexpr std::size_t kMostPauses = 64;  // records from before these have long arrived
  if (pauses_.size() == kMostPauses) pauses_.erase(pauses_.begin());
  pauses_.emplace_back(now_ns, std::numeric_limits<std::int64_t>::max());
}

void GraphLaunches::Resume(std::int64_t now_ns) {
  if (!pauses_.empty()) pauses_.back().second = now_ns;
}

bool GraphLaunches::IsPaused(std::int64_t from_ns, std::int64_t until_ns) const {
  return std::ranges::any_of(pauses_,
                             [&](const auto& pause) { return from_ns < pause.second && until_ns > pause.first; });
}

GraphLaunches::Tracked& GraphLaunches::Find(std::uint32_t id) {
  // A program that keeps making graphs must not fill its memory with them.
  if (graphs_.size() >= kMostGraphs && !graphs_.contains(id)) graphs_.erase(graphs_.begin());
  return graphs_[id];
}

void GraphLaunches::Count(Tracked& graph, OpenLaunch& launch) {
  launch.counted = true;
  for (Complete* const complete : {&graph.window, &graph.all}) {
    ++complete->launches;
    for (std::size_t slot = 0; slot < launch.sums.size(); ++slot) AddSum(complete->sums, slot, launch.sums[slot]);
  }
}

// A graph's launches run one after the other: one is complete if there was no pause between it and the launch before,
// nor before the next.
void GraphLaunches::EndLaunch(Tracked& graph, OpenLaunch& launch, std::int64_t next_start_ns) {
  const std::int64_t before_ns = std::exchange(graph.ended_ns, launch.end_ns);
  if (launch.counted || launch.cut || before_ns == 0 || IsPaused(before_ns, next_start_ns)) return;
  Count(graph, launch);
  const std::int64_t known = std::exchange(graph.kernels_of_each, launch.kernels);
  graph.varies = graph.varies || (known != 0 && known != launch.kernels);
  if (known != 0) return;
  for (OpenLaunch& other : graph.last) {  // these came before the number of kernels in a launch was known
    if (!other.counted && !other.cut && other.kernels == launch.kernels) Count(graph, other);
  }
}

GraphLaunches::OpenLaunch& GraphLaunches::FindLaunch(Tracked& graph, const GpuWork& kernel) {
  const auto known = std::find_if(graph.last.rbegin(), graph.last.rend(),
                                  [&](const OpenLaunch& launch) { return launch.correlation == kernel.correlation; });
  if (known != graph.last.rend()) return *known;
  if (graph.last.size() == kOpenLaunches) {
    OpenLaunch first = std::move(graph.last.front());
    graph.last.pop_front();
    EndLaunch(graph, first, graph.last.front().start_ns);
  }
  graph.last.push_back({kernel.correlation, 0, kernel.start_ns, kernel.end_ns});
  return graph.last.back();
}

void GraphLaunches::AddCut(const GpuWork& kernel) {
  Tracked& graph = Find(kernel.graph);
  FindLaunch(graph, kernel).cut = true;
  graph.window_cut = true;
}

void GraphLaunches::Add(const GpuWork& kernel, std::size_t index, bool collective) {
  Tracked& graph = Find(kernel.graph);
  OpenLaunch& launch = FindLaunch(graph, kernel);
  const WorkSum work{1, kernel.end_ns - kernel.start_ns};
  if (launch.kernels == 0) ++graph.launches;
  ++launch.kernels;
  launch.start_ns = std::min(launch.start_ns, kernel.start_ns);
  launch.end_ns = std::max(launch.end_ns, kernel.end_ns);
  ++graph.kernels;
  graph.total_ns += work.total_ns;
  graph.window_ns += work.total_ns;
  graph.collective = graph.collective || collective;
  const auto [place, is_new] = graph.slots.emplace(index, graph.classes.size());
  if (is_new) graph.classes.push_back(index);
  if (launch.counted) {  // it has more kernels than the ones before
    graph.varies = true;
    AddSum(graph.window.sums, place->second, work);
    AddSum(graph.all.sums, place->second, work);
    return;
  }
  AddSum(launch.sums, place->second, work);
  if (!launch.cut && !graph.varies && launch.kernels == graph.kernels_of_each) Count(graph, launch);
}

void GraphLaunches::BeginCount() {
  for (auto& [id, graph] : graphs_) graph.launches_before = graph.launches;
}

void GraphLaunches::Owe(const std::map<std::uint32_t, std::int64_t>& asked) {
  for (const auto& [id, launches] : asked) {
    const auto known = graphs_.find(id);
    if (known == graphs_.end() && !graphs_.empty() && id < graphs_.begin()->first) continue;  // recorded, and forgotten
    const std::int64_t recorded = known == graphs_.end() ? 0 : known->second.launches - known->second.launches_before;
    if (launches > recorded) owed_[id] += launches - recorded;
  }
}

GraphLaunches::Estimate GraphLaunches::TakeWindow(const std::map<std::uint32_t, std::int64_t>& asked) {
  Estimate estimate;
  for (const auto& [id, launches] : asked) owed_[id] += launches;
  for (auto& [id, graph] : graphs_) {
    const auto owed = owed_.find(id);
    const bool is_owed = owed != owed_.end();
    Complete window = std::exchange(graph.window, {});
    const std::int64_t recorded_ns = std::exchange(graph.window_ns, 0);
    // A graph that was never asked for was launched by the device, and counts as recorded. If it was asked for before,
    // its records come late: it has been counted.
    if (!is_owed && graph.asked) window = {};
    const bool began = std::exchange(graph.window_cut, false) || recorded_ns > 0;
    if (is_owed && began && window.launches == 0) estimate.cut = true;
    const Complete& known = window.launches > 0 ? window : graph.all;
    if (known.launches == 0 || (!is_owed && window.launches == 0)) continue;
    const double scale =
        std::max(is_owed ? static_cast<double>(owed->second) : 0.0, static_cast<double>(window.launches)) /
        static_cast<double>(known.launches);
    double all_ns = 0.0;
    for (std::size_t slot = 0; slot < known.sums.size(); ++slot) {
      auto& [launches, total_ns] = estimate.classes[graph.classes[slot]];
      launches += scale * static_cast<double>(known.sums[slot].launches);
      if (window.launches == 0) estimate.from_before += scale * static_cast<double>(known.sums[slot].launches);
      total_ns += scale * static_cast<double>(known.sums[slot].total_ns);
      all_ns += scale * static_cast<double>(known.sums[slot].total_ns);
    }
    if (recorded_ns > 0) estimate.weights.emplace(id, all_ns / static_cast<double>(recorded_ns));
    if (!is_owed) continue;
    graph.asked = true;
    owed_.erase(owed);
  }
  for (; owed_.size() > kMostGraphs; owed_.erase(owed_.begin())) forgotten_ += owed_.begin()->second;
  return estimate;
}

std::int64_t GraphLaunches::never_complete() const {
  std::int64_t launches = forgotten_;
  for (const auto& [id, owed] : owed_) launches += owed;
  return launches;
}

}  // namespace fa_profile::collect
