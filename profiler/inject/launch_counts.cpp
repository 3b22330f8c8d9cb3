#include "launch_counts.h"

#include <algorithm>
#include <utility>

namespace fa_profile::inject {

std::size_t LaunchCounts::KeyHash::operator()(const Key& key) const noexcept {
  std::size_t hash = std::hash<const char*>{}(key.symbol);
  for (const int size : key.sizes) hash = (hash ^ static_cast<std::size_t>(size)) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 29U);
}

void LaunchCounts::TakeKernel(const Key& key, Kernel& kernel) {
  if (kernel.launches > 0) taken_.kernels[{kernel.name, key.sizes}] += std::exchange(kernel.launches, 0);
}

void LaunchCounts::Count(const collect::LaunchCall& call, int launches) {
  if (call.symbol == nullptr) {
    taken_.graphs[call.graph] += launches;
    return;
  }
  Key key{call.symbol, {}};
  std::copy(call.grid.begin(), call.grid.end(), key.sizes.begin());
  std::copy(call.block.begin(), call.block.end(), key.sizes.begin() + 3);
  Kernel& kernel = kernels_[key];
  if (kernel.name != call.symbol) {
    TakeKernel(key, kernel);
    kernel.name = call.symbol;
  }
  kernel.launches += launches;
}

collect::AskedLaunches LaunchCounts::Take() {
  for (auto& [key, kernel] : kernels_) TakeKernel(key, kernel);
  kernels_.clear();
  return std::exchange(taken_, {});
}

}  // namespace fa_profile::inject
