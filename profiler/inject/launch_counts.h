#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include "fa_profile/launch_hook.h"
#include "fa_profile/launch_sample.h"

namespace fa_profile::inject {

/// Counts launches, of each kernel with its grid and block, and of each graph. Any thread: each counts in a shard that
/// it shares with few others, because a program's threads launch at the same time.
class LaunchCounts {
 public:
  /// Throws std::bad_alloc. `launches`: of this one, or -1: one less.
  void Count(const collect::LaunchCall& call, int launches);
  /// Since the last call.
  collect::AskedLaunches Take();

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
    std::string name;  // a module loaded later may get the address of one unloaded
    std::int64_t launches = 0;
  };
  static constexpr std::size_t kShards = 32;
  static constexpr std::size_t kCacheLine = 64;
  struct alignas(kCacheLine) Shard {
    std::mutex mutex;
    std::unordered_map<Key, Kernel, KeyHash> kernels;
    collect::AskedLaunches taken;
  };
  Shard& OfThisThread();
  static void TakeKernel(Shard& shard, const Key& key, Kernel& kernel);

  std::array<Shard, kShards> shards_;
};

}  // namespace fa_profile::inject
