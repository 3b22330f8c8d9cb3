#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace fa_profile::collect {

/// What a program asked the driver to launch while only a part of the launches was recorded.
struct AskedLaunches {
  /// Launches one by one: of the kernel of this mangled name with this grid and block.
  std::map<std::pair<std::string, std::array<int, 6>>, std::int64_t> kernels{};
  std::map<std::uint32_t, std::int64_t> graphs{};  ///< launches of each CUDA graph, by CUPTI's id of its executable
  double recorded_ratio = 1.0;                     ///< of the time, that in which launches were recorded
};

/// The time that each recorded nanosecond of a kernel represents: 1 while every launch is recorded.
struct LaunchWeights {
  double kernels = 1.0;                      ///< of launches one by one
  std::map<std::uint32_t, double> graphs{};  ///< of what each graph launched

  /// Of what the graph launched; 0: no graph did. A graph that the program did not ask for counts as recorded.
  double Of(std::uint32_t graph) const {
    if (graph == 0) return kernels;
    const auto known = graphs.find(graph);
    return known == graphs.end() ? 1.0 : known->second;
  }
};

}  // namespace fa_profile::collect
