#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fa_profile/launch_call.h"

namespace fa_profile::collect {

/// The nodes of a CUDA graph, to be launched one by one instead of the graph: the same kernels with the same arguments,
/// each after the nodes that it depends on. Branches of the graph stay branches, so that a node may wait for one on
/// another branch. One launch of the graph at a time.
class GraphNodes {
 public:
  struct Node {
    LaunchCall call;  ///< symbol nullptr: not a kernel
    std::string key;  ///< KeyOf(call)
  };
  virtual ~GraphNodes() = default;
  virtual const std::vector<Node>& nodes() const = 0;
  /// Nodes may run at the same time and wait for each other.
  virtual bool has_branches() const = 0;
  /// What the program launches on this stream (CUstream) from here on runs after the nodes. Throws Error.
  virtual void Begin(const void* stream) = 0;
  /// Launches each node once, in the order of nodes(). Throws Error: the driver refuses it.
  virtual void Launch(std::size_t index) = 0;
  /// After the last node. Throws Error.
  virtual void End() = 0;
};

}  // namespace fa_profile::collect
