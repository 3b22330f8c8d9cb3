#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fa_profile {

/// Kind of a node in the tree of GPU time.
enum class GpuTimeKind {
  kRange,   ///< an NVTX range; for the ladder a call, which it marks with one
  kPart,    ///< a part of a call
  kKernel,  ///< a kernel, or a launch class of a program
  kPhase,   ///< a phase of a kernel: a share of its samples
  kLine,    ///< a source line: a share of the samples of its phase
  kMemory,  ///< copies or sets
};

/// Where GPU time went, from the outside in.
struct GpuTimeNode {
  GpuTimeKind kind = GpuTimeKind::kKernel;
  std::string name;
  std::int64_t ns = 0;              ///< including nested nodes
  std::string file;                 ///< for a source line: its path as recorded
  int line = 0;                     ///< for a source line
  std::vector<GpuTimeNode> nested;  ///< most time first; at most `ns` in total, the rest belongs to the node itself
};

struct GpuTime {
  std::vector<GpuTimeNode> nodes;  ///< most time first
  std::int64_t total_ns = 0;       ///< the sum of `nodes`
};

}  // namespace fa_profile
