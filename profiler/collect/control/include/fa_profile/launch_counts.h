#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "fa_profile/launch_call.h"
#include "fa_profile/launch_sample.h"
#include "fa_profile/recording.h"

namespace fa_profile::collect {

/// Counts the launches of each kernel with its grid and block, and of each graph. Any thread: each counts in a shard
/// that it shares with few others, because a program's threads launch at the same time.
class LaunchCounts {
 public:
  /// Throws std::bad_alloc. `launches`: to add for this call; -1 takes one back.
  void Count(const LaunchCall& call, int launches);
  /// Launches since the last call.
  AskedLaunches Take();

  /// A launch that may belong to a graph being captured by a stream.
  void OnCapturedLaunch() noexcept { ++captured_; }
  /// A launch that is not counted, because it is in another context than the recorded one.
  void OnOtherContext() noexcept { ++elsewhere_; }
  /// A graph was instantiated that the GPU itself may launch.
  void OnDeviceGraph() noexcept { ++device_graphs_; }
  /// What could not be counted during the whole run.
  std::vector<DataLoss> Losses() const;

 private:
  struct Key {
    const char* symbol;
    std::array<int, 6> sizes;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept;
  };
  struct Kernel {
    std::string name;  // a module loaded later may reuse the address of an unloaded one
    std::int64_t launches = 0;
  };
  static constexpr std::size_t kShards = 32;
  static constexpr std::size_t kCacheLine = 64;
  struct alignas(kCacheLine) Shard {
    std::mutex mutex;
    std::unordered_map<Key, Kernel, KeyHash> kernels;
    AskedLaunches taken;
  };
  Shard& OfThisThread();
  static void TakeKernel(Shard& shard, const Key& key, Kernel& kernel);

  std::array<Shard, kShards> shards_;
  std::atomic<std::int64_t> captured_ = 0;
  std::atomic<std::int64_t> elsewhere_ = 0;
  std::atomic<std::int64_t> device_graphs_ = 0;
};

}  // namespace fa_profile::collect
