#include "fa_profile/nvtx_ranges.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>

namespace fa_profile::collect {
namespace {

constexpr std::size_t kSlots = std::size_t{1} << 20U;
constexpr std::size_t kLongestName = 256;
// 1/kLeastPart of the time in all ranges: a launch class with less in a range is not reported.
constexpr std::int64_t kLeastPart = 1000;

void Cut(std::string& name, std::string_view key) {
  const std::size_t start = name.find(key);
  if (start == std::string::npos) return;
  std::size_t end = start + key.size();
  while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end])) != 0) ++end;
  name.erase(start, end - start);
}

}  // namespace

std::string RangeName(std::string_view name) {
  std::string text(name.substr(0, kLongestName));
  Cut(text, ", seq = ");
  Cut(text, ", op_id = ");
  return text;
}

NvtxRanges::Node NvtxRanges::Enter(Node parent, std::string_view domain, std::string_view name) {
  const std::string text = domain.empty() ? RangeName(name) : std::string(domain) + ": " + RangeName(name);
  const std::lock_guard lock(mutex_);
  if (owned_slots_ == nullptr) {
    owned_slots_ = std::make_unique<std::atomic<std::uint64_t>[]>(kSlots);
    slots_ = owned_slots_.get();
  }
  return EnterLocked(parent, text);
}

NvtxRanges::Node NvtxRanges::EnterLocked(Node parent, const std::string& name) {
  const auto known = by_name_.find({parent, name});
  if (known != by_name_.end()) return known->second;
  if (nodes_.size() > kMostNodes || (parent != 0 && nodes_[parent].work.depth + 1 >= kDeepest)) {
    ++beyond_nodes_;
    return parent;
  }
  const Node node = static_cast<Node>(nodes_.size());
  Range range;
  range.parent = parent;
  range.work.path = parent == 0 ? name : nodes_[parent].work.path + " / " + name;
  range.work.depth = parent == 0 ? 0 : nodes_[parent].work.depth + 1;
  nodes_.push_back(std::move(range));
  by_name_.emplace(std::pair(parent, name), node);
  return node;
}

void NvtxRanges::Leave(Node node, std::int64_t host_ns) {
  const std::lock_guard lock(mutex_);
  ++nodes_[node].work.ranges;
  nodes_[node].work.host_ns += host_ns;
}

std::uint64_t NvtxRanges::Start(Started range) {
  const std::lock_guard lock(mutex_);
  if (started_.size() < kMostStarted) started_.emplace(next_id_, range);
  return next_id_++;
}

void NvtxRanges::End(std::uint64_t id, std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  const auto found = started_.find(id);
  if (found == started_.end()) return;
  ++nodes_[found->second.node].work.ranges;
  nodes_[found->second.node].work.host_ns += now_ns - found->second.start_ns;
  started_.erase(found);
  ++ends_;
}

std::string NvtxRanges::PathOf(Node node) const {
  const std::lock_guard lock(mutex_);
  return node < nodes_.size() ? nodes_[node].work.path : "";
}

void NvtxRanges::OnLaunch(std::uint32_t correlation, Node node) noexcept {
  std::atomic<std::uint64_t>* const slots = slots_;
  if (slots == nullptr) return;
  slots[correlation % kSlots].store(std::uint64_t{correlation} << 32U | node, std::memory_order_release);
}

void NvtxRanges::OnGraphNode(std::uint64_t graph_node, Node node) {
  const std::lock_guard lock(mutex_);
  if (graph_nodes_.size() < kMostGraphNodes) graph_nodes_[graph_node] = node;
}

void NvtxRanges::OnGraphNodeCloned(std::uint64_t graph_node, std::uint64_t original) {
  const std::lock_guard lock(mutex_);
  const auto found = graph_nodes_.find(original);
  if (found == graph_nodes_.end()) {
    graph_nodes_.erase(graph_node);
  } else if (graph_nodes_.size() < kMostGraphNodes) {
    graph_nodes_[graph_node] = Node{found->second};
  }
}

void NvtxRanges::OnGraphNodeDestroyed(std::uint64_t graph_node) {
  const std::lock_guard lock(mutex_);
  if (graph_nodes_.contains(graph_node)) destroyed_.push_back(graph_node);
}

bool NvtxRanges::IsInside(Node node, Node outer) const {
  while (node != 0 && node != outer) node = nodes_[node].parent;
  return node == outer;
}

NvtxRanges::Node NvtxRanges::Below(Node outer, Node inner) {
  if (outer == 0 || inner == 0) return outer == 0 ? inner : outer;
  if (IsInside(inner, outer)) return inner;
  const auto known = below_.find({outer, inner});
  if (known != below_.end()) return known->second;
  std::vector<std::string> names;
  for (Node node = inner; node != 0; node = nodes_[node].parent) {
    const Node parent = nodes_[node].parent;
    names.push_back(parent == 0 ? nodes_[node].work.path
                                : nodes_[node].work.path.substr(nodes_[parent].work.path.size() + 3));
  }
  Node node = outer;
  for (auto name = names.rbegin(); name != names.rend(); ++name) node = EnterLocked(node, *name);
  if (below_.size() < kMostNodes) below_.emplace(std::pair(outer, inner), node);
  return node;
}

NvtxRanges::Node NvtxRanges::NodeOf(const GpuWork& kernel) {
  const std::uint64_t slot = slots_.load()[kernel.correlation % kSlots].load(std::memory_order_acquire);
  const Node launched = slot >> 32U == kernel.correlation ? static_cast<Node>(slot) : 0;
  if (kernel.graph == 0) return launched;
  const auto made = graph_nodes_.find(kernel.graph_node);
  return Below(launched, made == graph_nodes_.end() ? 0 : made->second);
}

void NvtxRanges::Add(const GpuWork& kernel, std::size_t launch_class) {
  if (!in_use() || kernel.kind != GpuWork::Kind::kKernel) return;
  if (kernel.start_ns <= 0 || kernel.end_ns < kernel.start_ns) return;  // ProgramTotals counts these
  const std::lock_guard lock(mutex_);
  const Node node = NodeOf(kernel);
  if (node == 0) return;
  auto& [launches, gpu_ns] = nodes_[node].launches_and_ns[{launch_class, kernel.graph}];
  ++launches;
  gpu_ns += kernel.end_ns - kernel.start_ns;
}

NvtxRanges::Window NvtxRanges::TakeWindow(const LaunchWeights& weights) {
  const std::lock_guard lock(mutex_);
  Window window;
  std::int64_t all_ns = 0;
  for (Range& range : nodes_) {
    for (const auto& [of, sum] : std::exchange(range.launches_and_ns, {})) {
      const auto& [launch_class, graph] = of;
      const std::int64_t launches = std::llround(static_cast<double>(sum.first) * weights.Of(graph));
      const std::int64_t gpu_ns = std::llround(static_cast<double>(sum.second) * weights.Of(graph));
      range.work.launches += launches;
      range.work.gpu_ns += gpu_ns;
      all_ns += gpu_ns;
      const auto row = static_cast<std::int64_t>(launch_class);
      // A class comes once for each graph, one after the other.
      if (window.kernels.empty() || window.kernels.back().case_id != row ||
          window.kernels.back().path != range.work.path) {
        window.kernels.push_back({0, row, range.work.path, 0, 0});
      }
      window.kernels.back().launches += launches;
      window.kernels.back().gpu_ns += gpu_ns;
    }
  }
  std::erase_if(window.kernels, [&](const NvtxKernelWork& row) { return row.gpu_ns < all_ns / kLeastPart; });
  // An inner range has a higher number than the one around it.
  for (std::size_t i = nodes_.size(); i-- > 1;) {
    NvtxWork& around = nodes_[nodes_[i].parent].work;
    around.launches += nodes_[i].work.launches;
    around.gpu_ns += nodes_[i].work.gpu_ns;
  }
  for (Range& range : nodes_) {
    NvtxWork& work = range.work;
    if (!work.path.empty() && (work.ranges > 0 || work.launches > 0)) window.ranges.push_back(work);
    work.ranges = work.host_ns = work.launches = work.gpu_ns = 0;
  }
  for (const std::uint64_t graph_node : destroyed_before_) graph_nodes_.erase(graph_node);
  destroyed_before_ = std::exchange(destroyed_, {});
  return window;
}

std::int64_t NvtxRanges::beyond_nodes() const {
  const std::lock_guard lock(mutex_);
  return beyond_nodes_;
}

void NvtxStack::Push(std::string_view domain, std::string_view name, std::int64_t now_ns) {
  if (open_.size() >= kMostOpen) {  // the program forgets to pop
    ++beyond_;
    return;
  }
  open_.push_back({ranges_.Enter(Current(), domain, name), 0, now_ns, std::string(domain)});
}

void NvtxStack::Pop(std::string_view domain, std::int64_t now_ns) {
  if (beyond_ > 0) {
    --beyond_;
    return;
  }
  // Ranges of several domains may overlap, so it need not be the last.
  const auto found = std::find_if(open_.rbegin(), open_.rend(),
                                  [&](const Open& open) { return open.id == 0 && open.domain == domain; });
  if (found == open_.rend()) return;
  ranges_.Leave(found->node, now_ns - found->start_ns);
  open_.erase(std::next(found).base());
}

std::uint64_t NvtxStack::Start(std::string_view domain, std::string_view name, std::int64_t now_ns) {
  const auto around = std::find_if(open_.rbegin(), open_.rend(), [](const Open& open) { return open.id == 0; });
  const NvtxRanges::Node node = ranges_.Enter(around == open_.rend() ? 0 : around->node, domain, name);
  const std::uint64_t id = ranges_.Start({node, now_ns});
  if (open_.size() < kMostOpen) open_.push_back({node, id, now_ns, std::string(domain)});
  return id;
}

NvtxRanges::Node NvtxStack::Current() {
  // Another thread may have ended a range that this one started.
  if (const std::uint64_t ends = ranges_.ends(); ends != ends_seen_) {
    ends_seen_ = ends;
    const std::lock_guard lock(ranges_.mutex_);
    std::erase_if(open_, [&](const Open& open) { return open.id != 0 && !ranges_.started_.contains(open.id); });
  }
  return open_.empty() ? 0 : open_.back().node;
}

}  // namespace fa_profile::collect
