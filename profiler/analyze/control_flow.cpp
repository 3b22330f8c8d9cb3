#include "control_flow.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <string_view>

#include "loops.h"

namespace fa_profile::analyze {
namespace {

using Instructions = std::vector<Instruction>;

/// "BRA !P0, 0x2b0" and "BRA.DIV UR4, 0x2b0" are conditional without a predicate.
bool IsConditional(const Instruction& branch) {
  return !branch.predicate.empty() || branch.operands.find(',') != std::string::npos;
}

/// Where instructions can go on to, before blocks are cut.
struct Exits {
  bool falls_through = true;
  bool ends_block = false;
  bool indirect = false;
  std::vector<std::size_t> targets;
  std::optional<std::size_t> callee;
};

/// The BSSY of each convergence barrier, by register: where its warps go on after BSYNC.
using ConvergencePoints = std::map<std::string, std::set<std::size_t>, std::less<>>;

ConvergencePoints ReadConvergence(const Instructions& instructions) {
  ConvergencePoints points;
  for (const Instruction& instruction : instructions) {
    if (BaseOpcode(instruction) != "BSSY") continue;
    const auto target = BranchTarget(instructions, instruction);
    if (target) points[instruction.operands.substr(0, instruction.operands.find(','))].insert(*target);
  }
  // Mostly a BSYNC is right before the place its BSSY names. The others are places reached from elsewhere.
  for (std::size_t i = 0; i + 1 < instructions.size(); ++i) {
    if (BaseOpcode(instructions[i]) != "BSYNC") continue;
    if (const auto found = points.find(instructions[i].operands); found != points.end()) found->second.erase(i + 1);
  }
  return points;
}

Exits ExitsOf(const Instructions& instructions, std::size_t index, const ConvergencePoints& convergence) {
  const Instruction& instruction = instructions[index];
  const std::string_view base = BaseOpcode(instruction);
  Exits exits;
  if (base == "BRA" || base == "JMP") {
    exits.ends_block = true;
    exits.falls_through = IsConditional(instruction);
    if (const auto target = BranchTarget(instructions, instruction)) exits.targets.push_back(*target);
  } else if (base == "BRX" || base == "BRXU" || base == "JMX" || base == "JMXU") {
    exits.ends_block = true;
    exits.falls_through = !instruction.predicate.empty();
    exits.indirect = true;
  } else if (base == "EXIT" || base == "RET" || base == "KILL") {
    exits.ends_block = true;
    exits.falls_through = !instruction.predicate.empty();
  } else if (base == "CALL") {
    exits.ends_block = true;
    exits.callee = BranchTarget(instructions, instruction);
  } else if (base == "BSYNC") {
    // Two BSSY that share a register may leave several places; the warp goes on at one of them.
    if (const auto found = convergence.find(instruction.operands); found != convergence.end()) {
      exits.targets.assign(found->second.begin(), found->second.end());
    }
    exits.ends_block = !exits.targets.empty();
  }
  return exits;
}

void AddEdge(std::vector<BasicBlock>& blocks, std::size_t from, std::size_t to) {
  std::vector<std::size_t>& successors = blocks[from].successors;
  if (std::ranges::find(successors, to) != successors.end()) return;
  successors.push_back(to);
  blocks[to].predecessors.push_back(from);
}

void AddEdges(ControlFlow& flow, const std::vector<Exits>& exits) {
  for (std::size_t block = 0; block < flow.blocks.size(); ++block) {
    const Exits& last = exits[flow.blocks[block].end - 1];
    for (const std::size_t target : last.targets) AddEdge(flow.blocks, block, flow.block_of[target]);
    if (last.falls_through && block + 1 < flow.blocks.size()) AddEdge(flow.blocks, block, block + 1);
    if (last.callee) flow.blocks[block].callee = flow.block_of[*last.callee];
  }
  std::vector<bool> reached(flow.blocks.size(), false);
  for (const BasicBlock& block : flow.blocks) {
    if (block.callee) reached[*block.callee] = true;
  }
  std::vector<std::size_t> loose;
  for (std::size_t block = 1; block < flow.blocks.size(); ++block) {
    if (!reached[block] && flow.blocks[block].predecessors.empty()) loose.push_back(block);
  }
  // A compiler makes a jump table or two. Code with thousands is none of a compiler's, and gets no edges for them.
  constexpr std::size_t kMostEdges = 1'000'000;
  std::vector<std::size_t> indirect;
  for (std::size_t block = 0; block < flow.blocks.size(); ++block) {
    if (exits[flow.blocks[block].end - 1].indirect) indirect.push_back(block);
  }
  if (loose.size() * indirect.size() > kMostEdges) return;
  for (const std::size_t block : indirect) {
    for (const std::size_t target : loose) {
      flow.blocks[block].successors.push_back(target);
      flow.blocks[target].predecessors.push_back(block);
    }
  }
}

/// By block: whether a RET can be reached from it without leaving the subroutine.
std::vector<bool> ReachesReturn(const Instructions& instructions, const std::vector<BasicBlock>& blocks) {
  std::vector<bool> reaches(blocks.size(), false);
  std::vector<std::size_t> pending;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    if (BaseOpcode(instructions[blocks[block].end - 1]) != "RET") continue;
    reaches[block] = true;
    pending.push_back(block);
  }
  while (!pending.empty()) {
    const std::size_t block = pending.back();
    pending.pop_back();
    for (const std::size_t before : blocks[block].predecessors) {
      if (reaches[before]) continue;
      reaches[before] = true;
      pending.push_back(before);
    }
  }
  return reaches;
}

/// ptxas also jumps by CALL, to code far away that ends the kernel: out of a loop, for example. What never returns is
/// not called.
void TurnCallsIntoJumps(const Instructions& instructions, std::vector<BasicBlock>& blocks) {
  const std::vector<bool> returns = ReachesReturn(instructions, blocks);
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    const auto callee = blocks[block].callee;
    if (!callee || returns[*callee]) continue;
    blocks[block].callee.reset();
    if (instructions[blocks[block].end - 1].predicate.empty()) {
      for (const std::size_t next : blocks[block].successors) std::erase(blocks[next].predecessors, block);
      blocks[block].successors.clear();
    }
    AddEdge(blocks, block, *callee);
  }
}

/// Blocks that can be reached from `first` without leaving the subroutine.
std::vector<std::size_t> Reachable(const std::vector<BasicBlock>& blocks, std::size_t first) {
  std::vector<std::size_t> reached{first};
  std::set<std::size_t> seen{first};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const std::size_t next : blocks[reached[i]].successors) {
      if (seen.insert(next).second) reached.push_back(next);
    }
  }
  return reached;
}

/// A subroutine runs as deep in loops as the deepest of its calls.
std::vector<int> BlockDepths(const std::vector<BasicBlock>& blocks) {
  const std::vector<int> own = LoopDepths(blocks);
  std::map<std::size_t, int> calls;  // deepest call, by callee
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    if (!blocks[block].callee) continue;
    int& deepest = calls[*blocks[block].callee];
    deepest = std::max(deepest, own[block]);
  }
  // The deepest calls first: what they reach without leaving the subroutine needs no other.
  std::vector<std::pair<int, std::size_t>> deepest_first;
  for (const auto& [callee, around] : calls) deepest_first.emplace_back(around, callee);
  std::ranges::sort(deepest_first, std::greater<>());
  std::vector<int> depths = own;
  std::vector<bool> seen(blocks.size(), false);
  std::vector<std::size_t> pending;
  for (const auto& [around, callee] : deepest_first) {
    if (!seen[callee]) pending.push_back(callee);
    while (!pending.empty()) {
      const std::size_t block = pending.back();
      pending.pop_back();
      if (seen[block]) continue;
      seen[block] = true;
      depths[block] = own[block] + around;
      for (const std::size_t next : blocks[block].successors) {
        if (!seen[next]) pending.push_back(next);
      }
    }
  }
  return depths;
}

}  // namespace

std::string_view BaseOpcode(const Instruction& instruction) {
  return std::string_view(instruction.opcode).substr(0, instruction.opcode.find('.'));
}

std::optional<std::size_t> BranchTarget(const std::vector<Instruction>& instructions, const Instruction& branch) {
  const std::size_t start = branch.operands.rfind("0x");
  if (start == std::string::npos) return std::nullopt;
  const char* const end = branch.operands.data() + branch.operands.size();
  std::uint32_t offset = 0;
  const auto [rest, error] = std::from_chars(branch.operands.data() + start + 2, end, offset, 16);
  if (error != std::errc{} || rest != end) return std::nullopt;
  const auto found = std::ranges::lower_bound(instructions, offset, {}, &Instruction::offset);
  if (found == instructions.end() || found->offset != offset) return std::nullopt;
  return static_cast<std::size_t>(found - instructions.begin());
}

ControlFlow ReadControlFlow(const DeviceFunction& function) {
  const Instructions& instructions = function.instructions;
  ControlFlow flow;
  if (instructions.empty()) return flow;

  const ConvergencePoints convergence = ReadConvergence(instructions);
  std::vector<Exits> exits;
  exits.reserve(instructions.size());
  std::vector<bool> leads(instructions.size() + 1, false);  // a block begins here
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    exits.push_back(ExitsOf(instructions, i, convergence));
    if (exits[i].ends_block) leads[i + 1] = true;
    for (const std::size_t target : exits[i].targets) leads[target] = true;
    if (exits[i].callee) leads[*exits[i].callee] = true;
  }
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    if (i == 0 || leads[i]) flow.blocks.push_back({i, i, {}, {}, {}});
    flow.blocks.back().end = i + 1;
    flow.block_of.push_back(flow.blocks.size() - 1);
  }
  AddEdges(flow, exits);
  TurnCallsIntoJumps(instructions, flow.blocks);
  const std::vector<int> depths = BlockDepths(flow.blocks);
  for (const std::size_t block : flow.block_of) flow.loop_depth.push_back(depths[block]);
  return flow;
}

bool IsWaitingBarrier(const Instruction& instruction) {
  return instruction.opcode.starts_with("BAR.SYNC") || instruction.opcode.starts_with("BAR.RED");
}

std::optional<std::size_t> BarrierPassed(const DeviceFunction& function, const ControlFlow& flow, std::size_t index) {
  struct Way {
    std::size_t length;  // instructions back to the end of the block
    std::size_t block;
    std::size_t end;
    bool operator>(const Way& other) const { return length > other.length; }
  };
  std::priority_queue<Way, std::vector<Way>, std::greater<>> ways;
  std::set<std::size_t> walked;
  ways.push({0, flow.block_of[index], index + 1});
  std::optional<std::size_t> found;
  std::size_t shortest = 0;
  while (!ways.empty() && (!found || ways.top().length < shortest)) {
    const Way way = ways.top();
    ways.pop();
    const BasicBlock& block = flow.blocks[way.block];
    std::size_t i = way.end;
    while (i > block.first && !IsWaitingBarrier(function.instructions[i - 1])) --i;
    const std::size_t length = way.length + (way.end - i);
    if (i > block.first) {
      if (!found || length < shortest) {
        found = i - 1;
        shortest = length;
      }
      continue;
    }
    for (const std::size_t predecessor : block.predecessors) {
      if (walked.insert(predecessor).second) ways.push({length, predecessor, flow.blocks[predecessor].end});
    }
  }
  return found;
}

std::vector<std::size_t> WaitedFor(const DeviceFunction& function, const ControlFlow& flow, std::size_t barrier) {
  const Instructions& instructions = function.instructions;
  std::vector<std::size_t> region;
  std::set<std::size_t> walked{};  // blocks entered from their end
  std::vector<std::size_t> pending;
  // Takes [first, end) backwards down to another barrier; says whether its start was reached.
  const auto take = [&](std::size_t first, std::size_t end) {
    while (end > first && !IsWaitingBarrier(instructions[end - 1])) region.push_back(--end);
    return end == first;
  };
  const auto enter_predecessors = [&](const BasicBlock& block) {
    for (const std::size_t predecessor : block.predecessors) {
      if (walked.insert(predecessor).second) pending.push_back(predecessor);
    }
  };

  const BasicBlock& home = flow.blocks[flow.block_of[barrier]];
  if (take(home.first, barrier)) enter_predecessors(home);
  while (!pending.empty()) {
    const BasicBlock& block = flow.blocks[pending.back()];
    pending.pop_back();
    if (block.callee) {
      // The subroutine lies on the way; its barriers, if it has any, end nothing.
      for (const std::size_t called : Reachable(flow.blocks, *block.callee)) {
        for (std::size_t i = flow.blocks[called].first; i < flow.blocks[called].end; ++i) region.push_back(i);
      }
    }
    if (take(block.first, block.end)) enter_predecessors(block);
  }
  std::ranges::sort(region);
  region.erase(std::unique(region.begin(), region.end()), region.end());
  std::erase(region, barrier);
  return region;
}

}  // namespace fa_profile::analyze
