#include "fa_profile/launch_counts.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace fa_profile::collect {

std::size_t LaunchCounts::KeyHash::operator()(const Key& key) const noexcept {
  std::size_t hash = std::hash<const char*>{}(key.symbol);
  for (const int size : key.sizes) hash = (hash ^ static_cast<std::size_t>(size)) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 29U);
}

LaunchCounts::Shard& LaunchCounts::OfThisThread() {
  static std::atomic<std::size_t> threads = 0;
  thread_local const std::size_t number = threads++;
  return shards_[number % kShards];
}

void LaunchCounts::TakeKernel(Shard& shard, const Key& key, Kernel& kernel) {
  if (kernel.launches > 0) shard.taken.kernels[{kernel.name, key.sizes}] += std::exchange(kernel.launches, 0);
}

void LaunchCounts::Count(const LaunchCall& call, int launches) {
  Shard& shard = OfThisThread();
  const std::lock_guard lock(shard.mutex);
  if (call.symbol == nullptr) {
    shard.taken.graphs[call.graph] += launches;
    return;
  }
  Key key{call.symbol, {}};
  std::copy(call.grid.begin(), call.grid.end(), key.sizes.begin());
  std::copy(call.block.begin(), call.block.end(), key.sizes.begin() + 3);
  Kernel& kernel = shard.kernels[key];
  if (kernel.name != call.symbol) {
    TakeKernel(shard, key, kernel);
    kernel.name = call.symbol;
  }
  kernel.launches += launches;
}

AskedLaunches LaunchCounts::Take() {
  AskedLaunches all;
  all.elsewhere = elsewhere_.exchange(0);
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    for (auto& [key, kernel] : shard.kernels) TakeKernel(shard, key, kernel);
    shard.kernels.clear();
    for (const auto& [kernel, launches] : shard.taken.kernels) all.kernels[kernel] += launches;
    for (const auto& [graph, launches] : shard.taken.graphs) all.graphs[graph] += launches;
    shard.taken = {};
  }
  return all;
}

std::vector<DataLoss> LaunchCounts::Losses() const {
  std::vector<DataLoss> losses;
  if (const std::int64_t graphs = device_graphs_; graphs > 0) {
    losses.push_back({"launch_not_watched", "CUDA graphs that were instantiated for device launch",
                      "launches that the GPU itself makes are not counted, and the counts of these graphs' kernels, "
                      "and of those that launch them, may be wrong",
                      graphs});
  }
  if (const std::int64_t launches = captured_; launches > 0) {
    losses.push_back({"launch_not_watched", "launches during stream captures",
                      "they cannot be told from captured ones; up to this many are not counted", launches});
  }
  return losses;
}

}  // namespace fa_profile::collect
