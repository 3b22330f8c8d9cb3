#pragma once

#include <cuda.h>

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fa_profile/graph_nodes.h"

namespace fa_profile::collect {

/// Owns a clone of a graph.
class GraphCopy {
 public:
  /// Throws Error: the driver cannot clone it, for example when it allocates memory.
  explicit GraphCopy(CUgraph graph);
  ~GraphCopy();
  GraphCopy(const GraphCopy&) = delete;
  GraphCopy& operator=(const GraphCopy&) = delete;

  CUgraph get() const { return graph_; }
  std::size_t size() const;
  /// The copy of this node; nullptr: it has none.
  CUgraphNode Find(CUgraphNode original) const;

 private:
  CUgraph graph_ = nullptr;
};

/// A graph as single launches, in the order of the graph's nodes, which for a captured one is that of the capture,
/// except for nodes that depend on later ones.
///
/// Each branch has its stream; the first is the launch's. A node follows the last node of a branch that it depends on,
/// or begins a branch; it waits through events for dependencies in other branches.
class UnrolledGraph final : public GraphNodes {
 public:
  static constexpr std::size_t kMostBranches = 32;

  /// `copy` and `disabled` outlive this. `id`: CUPTI's, for the executable. `disabled`: nodes of the copy that do
  /// nothing. Throws Error: it can only be launched as a whole.
  UnrolledGraph(const GraphCopy& copy, std::uint32_t id, const std::set<CUgraphNode>& disabled);
  ~UnrolledGraph() override;
  UnrolledGraph(const UnrolledGraph&) = delete;
  UnrolledGraph& operator=(const UnrolledGraph&) = delete;

  const std::vector<Node>& nodes() const override { return nodes_; }
  bool has_branches() const override { return ends_.size() > 1; }
  void Begin(const void* stream) override;
  void Launch(std::size_t index) override;
  void End() override;
  /// The context is being destroyed, along with its streams and events.
  void Abandon() noexcept;

 private:
  // How a node is launched, in the order of nodes_.
  struct Step {
    CUgraphNode node = nullptr;  // nullptr: it does nothing, but others may wait for it
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    std::vector<std::size_t> after{};
    std::size_t branch = 0;
    bool is_waited_for = false;  // by a node of another branch
    CUevent done = nullptr;      // set if so
  };
  std::vector<std::size_t> Flatten(CUgraph graph, const std::vector<std::size_t>& after);
  void AddStep(CUgraphNode node, std::vector<std::size_t> after);
  void AddKernel(CUgraphNode node);
  void AssignBranches();
  void MakeStreams();
  CUstream StreamOf(std::size_t branch) const { return branch == 0 ? stream_ : streams_[branch]; }
  void LaunchKernel(CUgraphNode node, CUstream stream);

  const std::set<CUgraphNode>& disabled_;
  std::uint32_t id_;
  std::vector<Node> nodes_;
  std::vector<std::string> symbols_;  // for nodes_
  std::vector<Step> steps_;
  std::vector<std::size_t> ends_;  // the last step of each branch
  std::vector<CUstream> streams_;  // for each branch; the first is the program's
  CUstream stream_ = nullptr;
  CUevent begun_ = nullptr;
};

/// The driver's error for a refused node, since the last Begin() or call on this thread.
CUresult TakeUnrollError() noexcept;

}  // namespace fa_profile::collect
