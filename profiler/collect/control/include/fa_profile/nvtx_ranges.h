#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fa_profile/gpu_work.h"
#include "fa_profile/launch_sample.h"
#include "fa_profile/recording.h"

namespace fa_profile::collect {

/// The NVTX ranges of a program, and the kernels launched inside them. Ranges with the same names, from the outermost
/// inwards, are one node. Any thread. Memory is bounded by the constants below, and 8 MB for correlation ids.
class NvtxRanges {
 public:
  using Node = std::uint32_t;  ///< 0: outside of every range
  static constexpr std::size_t kMostNodes = 4096;
  static constexpr int kDeepest = 64;
  static constexpr std::size_t kMostGraphNodes = std::size_t{1} << 20U;
  static constexpr std::size_t kMostStarted = std::size_t{1} << 16U;  ///< start/end ranges that are open

  /// A range has been entered, so launches are worth checking.
  bool in_use() const { return slots_ != nullptr; }

  /// The node of a range inside `parent`, or `parent` itself if there are too many or they are nested too deeply, which
  /// is counted. `domain`: empty for the default one.
  Node Enter(Node parent, std::string_view domain, std::string_view name);
  /// A range of the node ended, `host_ns` after it began.
  void Leave(Node node, std::int64_t host_ns);

  /// A start/end range, which any thread may end.
  struct Started {
    Node node = 0;
    std::int64_t start_ns = 0;
  };
  std::uint64_t Start(Started range);
  /// Does nothing for an id that is not open.
  void End(std::uint64_t id, std::int64_t now_ns);
  std::uint64_t ends() const { return ends_; }  ///< so far

  /// The names of a range and those around it, "step / attn".
  std::string PathOf(Node node) const;

  /// A launch inside the range, by CUPTI's correlation id.
  void OnLaunch(std::uint32_t correlation, Node node) noexcept;
  /// A node of a CUDA graph, by CUPTI's ids. A graph's kernel is inside the range in which its node was made; if the
  /// graph is launched inside another range, below that.
  void OnGraphNode(std::uint64_t graph_node, Node node);
  void OnGraphNodeCloned(std::uint64_t graph_node, std::uint64_t original);
  void OnGraphNodeDestroyed(std::uint64_t graph_node);

  /// Adds a kernel to the range that it was launched in, if any. `launch_class`: ProgramTotals's index.
  void Add(const GpuWork& kernel, std::size_t launch_class);

  /// Work since the last window, without window_id. Each kernel counts with its weight.
  struct Window {
    std::vector<NvtxWork> ranges;         ///< their work includes that of the ranges inside them
    std::vector<NvtxKernelWork> kernels;  ///< case_id is the launch class; excludes the ranges inside them
  };
  Window TakeWindow(const LaunchWeights& weights = {});
  /// Ranges beyond kMostNodes and kDeepest, whose work goes to the range around them.
  std::int64_t beyond_nodes() const;

 private:
  friend class NvtxStack;
  struct Range {
    Node parent = 0;
    NvtxWork work;  // in the window; without launches and gpu_ns
    // In the window, excluding inner ranges, by launch class and graph; graph 0: not in a graph.
    std::map<std::pair<std::size_t, std::uint32_t>, std::pair<std::int64_t, std::int64_t>> launches_and_ns;
  };

  Node EnterLocked(Node parent, const std::string& name);
  Node NodeOf(const GpuWork& kernel);
  Node Below(Node outer, Node inner);
  bool IsInside(Node node, Node outer) const;

  mutable std::mutex mutex_;
  std::vector<Range> nodes_{1};  // the first is the outside
  std::map<std::pair<Node, std::string>, Node> by_name_;
  std::map<std::pair<Node, Node>, Node> below_;
  std::unordered_map<std::uint64_t, Node> graph_nodes_;
  // Nodes of graphs that are gone: since the last window, and since the one before. Their kernels' records may still
  // come.
  std::vector<std::uint64_t> destroyed_;
  std::vector<std::uint64_t> destroyed_before_;
  std::unordered_map<std::uint64_t, Started> started_;
  std::uint64_t next_id_ = 1;
  std::atomic<std::uint64_t> ends_ = 0;
  std::int64_t beyond_nodes_ = 0;
  // Correlation ids count up: a slot is reused a million API calls later, when its kernel's record has come.
  std::unique_ptr<std::atomic<std::uint64_t>[]> owned_slots_;
  std::atomic<std::atomic<std::uint64_t>*> slots_ = nullptr;
};

/// The ranges that one thread has open, innermost last. Used only by that thread.
class NvtxStack {
 public:
  static constexpr std::size_t kMostOpen = 1024;

  explicit NvtxStack(NvtxRanges& ranges) : ranges_(ranges) {}

  void Push(std::string_view domain, std::string_view name, std::int64_t now_ns);
  /// Ends the innermost push/pop range of the domain, if there is one.
  void Pop(std::string_view domain, std::int64_t now_ns);
  /// A start/end range counts for the launches of the thread that started it. It is inside the innermost push/pop
  /// range: start/end ranges overlap and are not nested. Returns its id.
  std::uint64_t Start(std::string_view domain, std::string_view name, std::int64_t now_ns);

  /// The innermost range that is open.
  NvtxRanges::Node Current();

 private:
  struct Open {
    NvtxRanges::Node node = 0;
    std::uint64_t id = 0;  // for a start/end range
    std::int64_t start_ns = 0;
    std::string domain;
  };

  NvtxRanges& ranges_;
  std::vector<Open> open_;
  std::uint64_t beyond_ = 0;  // open push/pop ranges that are not in open_
  std::uint64_t ends_seen_ = 0;
};

/// A range's name without the parts that differ each time: PyTorch's emit_nvtx() writes "aten::mm, seq = 1, op_id = 2".
std::string RangeName(std::string_view name);

}  // namespace fa_profile::collect
