#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "unrolled_graph.h"

namespace fa_profile::collect {

/// Copies of a process's graphs as they were instantiated: the program may destroy its own at once, and usually does.
/// Fed by the callbacks of the driver's functions after they succeed. Any thread.
class KeptGraphs {
 public:
  static constexpr std::size_t kMostNodes = 200'000;  ///< for all graphs together

  void OnInstantiated(CUgraphExec executable, CUgraph graph) noexcept;
  void OnUpdated(CUgraphExec executable, CUgraph graph) noexcept;
  void OnKernelChanged(CUgraphExec executable, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS& changed) noexcept;
  void OnMemsetChanged(CUgraphExec executable, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS& changed) noexcept;
  void OnCopyChanged(CUgraphExec executable, CUgraphNode node, const CUDA_MEMCPY3D& changed) noexcept;
  void OnEnabled(CUgraphExec executable, CUgraphNode node, bool enabled) noexcept;
  /// Changed in a way that is not tracked: no longer kept.
  void OnChanged(CUgraphExec executable) noexcept { Forget(executable); }
  /// Before the driver destroys it.
  void OnDestroyed(CUgraphExec executable) noexcept { Forget(executable); }

  /// The context in which graphs are launched is being destroyed: none is kept from here on, as a later context's
  /// graphs go with it unseen.
  void OnContextEnds() noexcept;

  /// By CUPTI's id of the executable.
  std::shared_ptr<UnrolledGraph> Find(std::uint32_t graph) noexcept;
  /// An executable graph without nodes, to be launched in place of one whose nodes were launched. It is made in the
  /// context of the first such launch, the one that OnContextEnds() is about. nullptr: it cannot be made.
  CUgraphExec Empty() noexcept;

 private:
  struct Kept {
    std::uint32_t id = 0;
    std::size_t size = 0;
    std::unique_ptr<GraphCopy> copy{};
    std::set<CUgraphNode> disabled{};           // nodes of the copy
    std::shared_ptr<UnrolledGraph> unrolled{};  // set when first asked for
    bool is_whole = false;                      // it cannot be unrolled
  };
  void Keep(CUgraphExec executable, CUgraph graph) noexcept;
  void Forget(CUgraphExec executable) noexcept;
  template <typename Change>
  void Follow(CUgraphExec executable, const Change& change) noexcept;

  std::mutex mutex_;
  std::map<CUgraphExec, Kept> graphs_;
  std::map<std::uint32_t, CUgraphExec> by_id_;
  std::size_t nodes_ = 0;
  CUgraphExec empty_ = nullptr;
  bool over_ = false;
};

KeptGraphs& ProcessGraphs();

/// The calling thread is inside a driver call that we make for a copy of a graph: its callbacks are not the program's.
bool IsOurGraphCall() noexcept;

}  // namespace fa_profile::collect
