#include "kept_graphs.h"

#include <cupti.h>

#include <set>
#include <utility>

#include "fa_profile/error.h"
#include "fa_profile/kept_graphs.h"
#include "graph_driver.h"

namespace fa_profile::collect {
namespace {

thread_local int our_calls = 0;

// Callbacks for what the driver does for us are not the program's.
struct OurCall {
  OurCall() { ++our_calls; }
  ~OurCall() { --our_calls; }
  OurCall(const OurCall&) = delete;
  OurCall& operator=(const OurCall&) = delete;
};

}  // namespace

bool IsOurGraphCall() noexcept { return our_calls > 0; }

// Never destroyed: callbacks arrive until the process ends.
KeptGraphs& ProcessGraphs() {
  static auto* const graphs = new KeptGraphs;
  return *graphs;
}

void KeptGraphs::Keep(CUgraphExec executable, CUgraph graph) noexcept {
  const OurCall ours;
  std::uint32_t id = 0;
  if (!GraphDriver().complete || cuptiGetGraphExecId(executable, &id) != CUPTI_SUCCESS) return;
  try {
    Kept kept{id, 0, std::make_unique<GraphCopy>(graph)};
    kept.size = kept.copy->size();
    const std::lock_guard lock(mutex_);
    if (over_ || nodes_ + kept.size > kMostNodes) return;
    nodes_ += kept.size;
    by_id_[id] = executable;
    graphs_[executable] = std::move(kept);
  } catch (const std::exception&) {
    return;  // it is launched as a whole
  }
}

void KeptGraphs::Forget(CUgraphExec executable) noexcept {
  const OurCall ours;
  Kept forgotten;  // destroyed without the lock
  {
    const std::lock_guard lock(mutex_);
    const auto found = graphs_.find(executable);
    if (found == graphs_.end()) return;
    nodes_ -= found->second.size;
    by_id_.erase(found->second.id);
    forgotten = std::move(found->second);
    graphs_.erase(found);
  }
}

void KeptGraphs::OnInstantiated(CUgraphExec executable, CUgraph graph) noexcept {
  Forget(executable);  // the handle may be reused from one that went with its context
  Keep(executable, graph);
}

void KeptGraphs::OnUpdated(CUgraphExec executable, CUgraph graph) noexcept { OnInstantiated(executable, graph); }

// The driver may no longer know the copies' handles: they are left to it.
void KeptGraphs::OnContextEnds() noexcept {
  const std::lock_guard lock(mutex_);
  for (auto& [executable, kept] : graphs_) {
    if (kept.unrolled != nullptr) kept.unrolled->Abandon();
    (void)kept.copy.release();
  }
  graphs_.clear();
  by_id_.clear();
  nodes_ = 0;
  empty_ = nullptr;
  over_ = true;
}

// `change` returns false if the copy cannot follow.
template <typename Change>
void KeptGraphs::Follow(CUgraphExec executable, const Change& change) noexcept {
  bool follows = true;
  try {
    const OurCall ours;
    const std::lock_guard lock(mutex_);
    const auto found = graphs_.find(executable);
    if (found == graphs_.end()) return;
    follows = change(found->second);
    found->second.unrolled.reset();
    found->second.is_whole = false;
  } catch (const std::exception&) {
    follows = false;
  }
  if (!follows) Forget(executable);
}

void KeptGraphs::OnKernelChanged(CUgraphExec executable, CUgraphNode node,
                                 const CUDA_KERNEL_NODE_PARAMS& changed) noexcept {
  Follow(executable, [&](Kept& kept) {
    const CUgraphNode copy = kept.copy->Find(node);
    return copy != nullptr && GraphDriver().set_kernel_params(copy, &changed) == CUDA_SUCCESS;
  });
}

void KeptGraphs::OnMemsetChanged(CUgraphExec executable, CUgraphNode node,
                                 const CUDA_MEMSET_NODE_PARAMS& changed) noexcept {
  Follow(executable, [&](Kept& kept) {
    const CUgraphNode copy = kept.copy->Find(node);
    return copy != nullptr && GraphDriver().set_memset_params(copy, &changed) == CUDA_SUCCESS;
  });
}

void KeptGraphs::OnCopyChanged(CUgraphExec executable, CUgraphNode node, const CUDA_MEMCPY3D& changed) noexcept {
  Follow(executable, [&](Kept& kept) {
    const CUgraphNode copy = kept.copy->Find(node);
    return copy != nullptr && GraphDriver().set_copy_params(copy, &changed) == CUDA_SUCCESS;
  });
}

void KeptGraphs::OnEnabled(CUgraphExec executable, CUgraphNode node, bool enabled) noexcept {
  Follow(executable, [&](Kept& kept) {
    const CUgraphNode copy = kept.copy->Find(node);
    if (copy == nullptr) return false;
    enabled ? (void)kept.disabled.erase(copy) : (void)kept.disabled.insert(copy);
    return true;
  });
}

std::shared_ptr<UnrolledGraph> KeptGraphs::Find(std::uint32_t graph) noexcept {
  const OurCall ours;
  const std::lock_guard lock(mutex_);
  const auto executable = by_id_.find(graph);
  if (executable == by_id_.end()) return nullptr;
  Kept& kept = graphs_.at(executable->second);
  if (kept.unrolled != nullptr || kept.is_whole) return kept.unrolled;
  try {
    kept.unrolled = std::make_shared<UnrolledGraph>(*kept.copy, graph, kept.disabled);
  } catch (const std::exception&) {
    kept.is_whole = true;
  }
  return kept.unrolled;
}

CUgraphExec KeptGraphs::Empty() noexcept {
  const OurCall ours;
  const auto& driver = GraphDriver();
  const std::lock_guard lock(mutex_);
  if (empty_ != nullptr) return empty_;
  CUgraph graph = nullptr;
  if (driver.create(&graph, 0) != CUDA_SUCCESS) return nullptr;
  if (driver.instantiate(&empty_, graph, 0) != CUDA_SUCCESS) empty_ = nullptr;
  (void)driver.destroy(graph);
  return empty_;
}

// Without an empty graph the driver would launch the graph after its nodes.
std::shared_ptr<GraphNodes> NodesOfGraph(std::uint32_t graph) noexcept {
  KeptGraphs& graphs = ProcessGraphs();
  std::shared_ptr<UnrolledGraph> found = graphs.Find(graph);
  return found != nullptr && graphs.Empty() != nullptr ? found : nullptr;
}

bool HasNodesOfGraph(std::uint32_t graph) noexcept { return ProcessGraphs().Find(graph) != nullptr; }

void ForgetGraphs() noexcept { ProcessGraphs().OnContextEnds(); }

}  // namespace fa_profile::collect
