#include "loops.h"

#include <cstddef>

namespace fa_profile::analyze {
namespace {

constexpr int kDeepest = 64;  // bounds the work for graphs that no compiler makes
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

class LoopFinder {
 public:
  explicit LoopFinder(const std::vector<BasicBlock>& blocks) : blocks_(blocks), nodes_(blocks.size()) {}

  std::vector<int> Depths() {
    for (std::size_t block = 0; block < blocks_.size(); ++block) {
      if (!nodes_[block].visited) Walk(block);
    }
    // A block's header was visited before it.
    std::vector<int> depths(blocks_.size(), 0);
    for (const std::size_t block : order_) {
      const Node& node = nodes_[block];
      depths[block] = (node.header == kNone ? 0 : depths[node.header]) + (node.is_header ? 1 : 0);
    }
    return depths;
  }

 private:
  struct Node {
    bool visited = false;
    bool is_header = false;
    std::size_t on_path = 0;  // position on the current path, from 1; 0: not on it
    std::size_t header = kNone;
  };
  struct Step {
    std::size_t block;
    std::size_t next_successor = 0;
  };

  // Depth first, with an explicit stack: a path may be as long as the function.
  void Walk(std::size_t root) {
    std::vector<Step> path;
    const auto enter = [&](std::size_t block) {
      path.push_back({block});
      nodes_[block].visited = true;
      nodes_[block].on_path = path.size();
      order_.push_back(block);
    };
    enter(root);
    while (!path.empty()) {
      const std::size_t block = path.back().block;
      if (path.back().next_successor == blocks_[block].successors.size()) {
        nodes_[block].on_path = 0;
        path.pop_back();
        if (!path.empty()) PutInto(path.back().block, nodes_[block].header);
        continue;
      }
      const std::size_t next = blocks_[block].successors[path.back().next_successor++];
      if (!nodes_[next].visited) {
        enter(next);
      } else if (nodes_[next].on_path > 0) {
        nodes_[next].is_header = true;
        PutInto(block, next);
      } else {
        PutInto(block, HeaderOnPath(next));
      }
    }
  }

  /// The innermost loop around a finished block whose header is on the current path.
  std::size_t HeaderOnPath(std::size_t block) const {
    std::size_t header = nodes_[block].header;
    for (int step = 0; header != kNone && nodes_[header].on_path == 0 && step < kDeepest; ++step) {
      header = nodes_[header].header;
    }
    return header != kNone && nodes_[header].on_path > 0 ? header : kNone;
  }

  /// Records that `block` is in the loop of `header`; sorts the headers around it by their place on the path.
  void PutInto(std::size_t block, std::size_t header) {
    if (header == kNone || block == header) return;
    for (int step = 0; step < kDeepest; ++step) {
      const std::size_t around = nodes_[block].header;
      if (around == kNone) break;
      if (around == header) return;
      if (nodes_[around].on_path < nodes_[header].on_path) {
        nodes_[block].header = header;
        block = header;
        header = around;
      } else {
        block = around;
      }
    }
    if (nodes_[block].header == kNone && block != header) nodes_[block].header = header;
  }

  const std::vector<BasicBlock>& blocks_;
  std::vector<Node> nodes_;
  std::vector<std::size_t> order_;  // in visiting order
};

}  // namespace

std::vector<int> LoopDepths(const std::vector<BasicBlock>& blocks) { return LoopFinder(blocks).Depths(); }

}  // namespace fa_profile::analyze
