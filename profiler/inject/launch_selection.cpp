#include "fa_profile/launch_selection.h"

#include "fa_profile/demangle.h"

namespace fa_profile::inject {

LaunchSelection::LaunchSelection(const InjectPlan& plan)
    : kernels_(plan.kernel_pattern),
      all_kernels_(plan.kernel_pattern.empty()),
      nvtx_(!plan.nvtx_pattern.empty()),
      ranges_(plan.nvtx_pattern, "--nvtx"),
      skip_(plan.launch_skip),
      count_(plan.launch_count) {}

bool LaunchSelection::IsWanted(const char* symbol) {
  if (all_kernels_) return true;
  if (symbol == nullptr) return false;
  const auto [known, is_new] = known_kernels_.try_emplace(symbol, false);
  if (is_new) known->second = kernels_.Finds(Demangle(symbol));
  return known->second;
}

bool LaunchSelection::IsInside(std::uint32_t range, const std::function<std::string(std::uint32_t)>& path) {
  if (!nvtx_) return true;
  if (range == 0) return false;
  if (known_ranges_.size() <= range) known_ranges_.resize(range + 1, -1);
  if (known_ranges_[range] < 0) known_ranges_[range] = ranges_.Finds(path(range)) ? 1 : 0;
  return known_ranges_[range] == 1;
}

bool LaunchSelection::Takes(const char* symbol, std::uint32_t range,
                            const std::function<std::string(std::uint32_t)>& path) {
  if (!IsInside(range, path) || !IsWanted(symbol)) return false;
  return ++found_ > skip_ && !over();
}

}  // namespace fa_profile::inject
