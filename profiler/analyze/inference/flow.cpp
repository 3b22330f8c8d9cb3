#include "inference/flow.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "fa_profile/opcodes.h"

namespace fa_profile::analyze {
namespace {

constexpr std::size_t kNoBlock = static_cast<std::size_t>(-1);

void AddOnce(std::vector<std::size_t>& list, std::size_t block) {
  if (std::ranges::find(list, block) == list.end()) list.push_back(block);
}

/// "BRA.DIV UR4, 0x2b0" leads to code that does the same as the code after it, thread by thread, with a subroutine for
/// each shuffle. All callers of these would seem to pass values to each other.
bool LeavesWhereThreadsDiverged(const DeviceFunction& function, const BasicBlock& block) {
  return sass::BranchesWhereDiverged(function.instructions[block.end - 1].opcode);
}

void AddCalls(const DeviceFunction& function, Flow& flow, StepBudget& budget) {
  std::map<std::size_t, std::vector<std::size_t>> returns;  // blocks after its calls, by callee
  const std::size_t count = flow.graph.blocks.size();
  for (std::size_t block = 0; block < count; ++block) {
    const auto callee = flow.graph.blocks[block].callee;
    if (!callee) continue;
    if (!budget.Spend(flow.predecessors[*callee].size())) return;
    AddOnce(flow.successors[block], *callee);
    AddOnce(flow.predecessors[*callee], block);
    if (block + 1 < count) returns[*callee].push_back(block + 1);
  }
  flow.value_predecessors = flow.predecessors;
  Edges within(count);  // a subroutine's own blocks, without those that it calls
  for (std::size_t block = 0; block < count; ++block) within[block] = flow.graph.blocks[block].successors;
  for (const auto& [callee, behind] : returns) {
    std::vector<bool> body = Reached({callee}, within, budget);
    body[callee] = true;
    if (!budget.Spend(count)) return;
    for (std::size_t block = 0; block < count; ++block) {
      if (!body[block]) continue;
      const Instruction& last = function.instructions[flow.graph.blocks[block].end - 1];
      if (sass::FormOf(last.opcode) != sass::Form::kReturn) continue;
      for (const std::size_t next : behind) {
        if (!budget.Spend(1 + flow.value_predecessors[next].size())) return;
        AddOnce(flow.value_predecessors[next], block);
      }
    }
  }
}

/// Depth first, without recursion. By block, when it was finished.
std::vector<std::size_t> ReversePostorder(const Edges& successors) {
  std::vector<std::size_t> order;
  std::vector<bool> seen(successors.size(), false);
  std::vector<std::pair<std::size_t, std::size_t>> path{{0, 0}};  // block, next successor
  seen[0] = true;
  while (!path.empty()) {
    auto& [block, next] = path.back();
    if (next == successors[block].size()) {
      order.push_back(block);
      path.pop_back();
      continue;
    }
    const std::size_t to = successors[block][next++];
    if (!seen[to]) {
      seen[to] = true;
      path.emplace_back(to, 0);
    }
  }
  std::ranges::reverse(order);
  return order;
}

/// Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm (2001).
std::vector<std::size_t> ImmediateDominators(const Flow& flow, StepBudget& budget) {
  std::vector<std::size_t> place(flow.successors.size(), kNoBlock);
  for (std::size_t i = 0; i < flow.order.size(); ++i) place[flow.order[i]] = i;
  std::vector<std::size_t> dominator(flow.successors.size(), kNoBlock);
  dominator[0] = 0;
  for (bool changed = true; changed && !budget.exhausted();) {
    changed = false;
    for (const std::size_t block : flow.order) {
      if (block == 0) continue;
      std::size_t common = kNoBlock;
      for (std::size_t other : flow.predecessors[block]) {
        if (dominator[other] == kNoBlock) continue;
        if (common == kNoBlock) common = other;
        while (common != other) {
          if (!budget.Spend()) return dominator;
          std::size_t& later = place[common] > place[other] ? common : other;
          later = dominator[later];
        }
      }
      if (common != dominator[block]) {
        dominator[block] = common;
        changed = true;
      }
    }
  }
  return dominator;
}

void NumberDominatorTree(const std::vector<std::size_t>& dominator, Flow& flow) {
  Edges children(dominator.size());
  for (const std::size_t block : flow.order) {
    if (block != 0 && dominator[block] != kNoBlock) children[dominator[block]].push_back(block);
  }
  flow.dominator_first.assign(dominator.size(), kNoBlock);
  flow.dominator_last.assign(dominator.size(), 0);
  std::size_t number = 0;
  std::vector<std::pair<std::size_t, std::size_t>> path{{0, 0}};
  flow.dominator_first[0] = number++;
  while (!path.empty()) {
    auto& [block, next] = path.back();
    if (next == children[block].size()) {
      flow.dominator_last[block] = number;
      path.pop_back();
      continue;
    }
    const std::size_t child = children[block][next++];
    flow.dominator_first[child] = number++;
    path.emplace_back(child, 0);
  }
}

void FindLoops(Flow& flow, StepBudget& budget) {
  std::map<std::size_t, std::set<std::size_t>> bodies;  // by header
  for (const std::size_t block : flow.order) {
    for (const std::size_t header : flow.successors[block]) {
      if (!flow.Dominates(header, block)) continue;
      std::set<std::size_t>& body = bodies[header];
      body.insert(header);
      std::vector<std::size_t> pending{block};
      while (!pending.empty()) {
        const std::size_t inside = pending.back();
        pending.pop_back();
        if (!budget.Spend(10)) return;
        if (flow.dominator_first[inside] == kNoBlock || !body.insert(inside).second) continue;
        for (const std::size_t before : flow.predecessors[inside]) pending.push_back(before);
      }
    }
  }
  for (const auto& [header, body] : bodies) flow.loops.push_back({header, {body.begin(), body.end()}});
}

}  // namespace

bool Flow::Dominates(std::size_t above, std::size_t block) const {
  return dominator_first[above] <= dominator_first[block] && dominator_first[block] < dominator_last[above];
}

bool Flow::Runs(std::size_t block) const { return dominator_first[block] != kNoBlock; }

Flow ReadFlow(const DeviceFunction& function, StepBudget& budget) {
  Flow flow;
  flow.graph = ReadControlFlow(function);
  const std::size_t count = flow.graph.blocks.size();
  if (count == 0) return flow;
  flow.successors.resize(count);
  flow.predecessors.resize(count);
  for (std::size_t block = 0; block < count; ++block) {
    const bool divergent = LeavesWhereThreadsDiverged(function, flow.graph.blocks[block]);
    for (const std::size_t next : flow.graph.blocks[block].successors) {
      if (!budget.Spend()) return flow;
      if (divergent && next != block + 1) continue;
      flow.successors[block].push_back(next);
      flow.predecessors[next].push_back(block);
    }
  }
  AddCalls(function, flow, budget);
  if (budget.exhausted()) return flow;
  flow.order = ReversePostorder(flow.successors);
  NumberDominatorTree(ImmediateDominators(flow, budget), flow);
  if (!budget.exhausted()) FindLoops(flow, budget);
  return flow;
}

std::vector<bool> Reached(const std::vector<std::size_t>& starts, const Edges& edges, StepBudget& budget) {
  std::vector<bool> reached(edges.size(), false);
  std::vector<std::size_t> pending = starts;
  while (!pending.empty() && budget.Spend()) {
    const std::size_t block = pending.back();
    pending.pop_back();
    for (const std::size_t next : edges[block]) {
      if (reached[next]) continue;
      reached[next] = true;
      pending.push_back(next);
    }
  }
  return reached;
}

}  // namespace fa_profile::analyze
