#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "fa_profile/launch_hook.h"
#include "fa_profile/launch_sample.h"

namespace fa_profile::inject {

/// Counts launches, of each kernel with its grid and block, and of each graph. One thread at a time.
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
  void TakeKernel(const Key& key, Kernel& kernel);

  std::unordered_map<Key, Kernel, KeyHash> kernels_;
  collect::AskedLaunches taken_;
};

}  // namespace fa_profile::inject
