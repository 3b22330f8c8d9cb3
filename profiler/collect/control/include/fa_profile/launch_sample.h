#pragma once

#include <cstdint>
#include <map>

namespace fa_profile::collect {

/// What a program asked the driver to launch while only a part of the launches was recorded.
struct AskedLaunches {
  std::int64_t kernels = 0;                        ///< launched one by one
  std::map<std::uint32_t, std::int64_t> graphs{};  ///< launches of each CUDA graph, by CUPTI's id of its executable
};

/// For how many launches each recorded one counts: the ratio estimator of a sample whose strata are the CUDA graphs and
/// all else (Cochran, "Sampling Techniques", chapter 6). 1 while every launch is recorded.
struct LaunchWeights {
  double kernels = 1.0;  ///< of launches one by one
  std::map<std::uint32_t, double> graphs{};

  /// Of what the graph launched; 0: no graph did. A graph that the program did not ask for counts as recorded.
  double Of(std::uint32_t graph) const {
    if (graph == 0) return kernels;
    const auto known = graphs.find(graph);
    return known == graphs.end() ? 1.0 : known->second;
  }
};

}  // namespace fa_profile::collect
