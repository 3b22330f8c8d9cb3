#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace fa_profile::collect {

/// What a program asked the driver to launch while only some launches were recorded.
struct AskedLaunches {
  /// Launches outside of graphs: of the kernel with this mangled name, grid and block.
  std::map<std::pair<std::string, std::array<int, 6>>, std::int64_t> kernels{};
  std::map<std::uint32_t, std::int64_t> graphs{};  ///< launches of each CUDA graph, by CUPTI's id of its executable
  std::int64_t elsewhere = 0;   ///< launches of kernels and graphs in other contexts than the recorded one
  double recorded_ratio = 1.0;  ///< share of the time in which launches were recorded
};

/// How much time each recorded nanosecond of a kernel represents: 1 while every launch is recorded.
struct LaunchWeights {
  double kernels = 1.0;                      ///< for launches outside of graphs
  std::map<std::uint32_t, double> graphs{};  ///< for each graph's launches

  /// Weight of what the graph launched; 0: not in a graph. A graph that the program did not ask for counts as recorded.
  double Of(std::uint32_t graph) const {
    if (graph == 0) return kernels;
    const auto known = graphs.find(graph);
    return known == graphs.end() ? 1.0 : known->second;
  }
};

}  // namespace fa_profile::collect
