#include "fa_profile/launch_call.h"

#include <fmt/format.h>

#include "fa_profile/recording.h"

namespace fa_profile::collect {

std::string LaunchKey(const std::string& mangled, const std::array<int, 3>& grid, const std::array<int, 3>& block) {
  return fmt::format("{} {} {} {} {} {} {}", mangled, grid[0], grid[1], grid[2], block[0], block[1], block[2]);
}

std::string GraphKey(std::uint32_t graph) { return fmt::format("{}{}", kGraphCase, graph); }

std::string KeyOf(const LaunchCall& call) {
  return call.symbol != nullptr ? LaunchKey(call.symbol, call.grid, call.block) : GraphKey(call.graph);
}

}  // namespace fa_profile::collect
