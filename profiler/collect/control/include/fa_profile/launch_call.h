#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace fa_profile::collect {

/// A kernel launch or a CUDA graph launch as requested from the driver, or a node of a graph whose nodes are launched
/// one by one.
struct LaunchCall {
  const char* symbol = nullptr;  ///< mangled name of the kernel, valid during the call; nullptr: a graph
  std::array<int, 3> grid{};
  std::array<int, 3> block{};
  std::uint32_t graph = 0;       ///< CUPTI's id of the executable graph; 0: a kernel outside of graphs
  int node = 0;                  ///< number of the graph's node, from 1; 0: the graph itself
  int kernels = 1;               ///< number of kernels launched, as far as known
  const void* stream = nullptr;  ///< stream on which a graph is launched (CUstream)
};

/// Name of a launch's class before it is recorded: the mangled name and the sizes.
std::string LaunchKey(const std::string& mangled, const std::array<int, 3>& grid, const std::array<int, 3>& block);
std::string GraphKey(std::uint32_t graph);
/// LaunchKey() or GraphKey().
std::string KeyOf(const LaunchCall& call);

}  // namespace fa_profile::collect
