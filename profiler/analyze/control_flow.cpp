#include "control_flow.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <string_view>

#include "fa_profile/opcodes.h"
#include "loops.h"

namespace fa_profile::analyze {
namespace {

using sass::Form;
using Instructions = std::vector<Instruction>;

/// "BRA !P0, 0x2b0" and "BRA.DIV UR4, 0x2b0" are conditional without a predicate.
bool IsConditional(const Instruction& branch) {
  return !branch.predicate.empty() || branch.operands.find(',') != std::string::npos;
}

/// Index of the instruction at an offset like "0x2b0".
std::optional<std::size_t> InstructionAt(const Instructions& instructions, std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  const char* const end = text.data() + text.size();
  std::uint32_t offset = 0;
  const auto [rest, error] = std::from_chars(text.data() + 2, end, offset, 16);
  if (error != std::errc{} || rest != end) return std::nullopt;
  const auto found = std::ranges::lower_bound(instructions, offset, {}, &Instruction::offset);
  if (found == instructions.end() || found->offset != offset) return std::nullopt;
  return static_cast<std::size_t>(found - instructions.begin());
}

/// Where control can go from an instruction, before blocks are cut.
struct Exits {
  bool falls_through = true;
  bool ends_block = false;
  bool unknown = false;  ///< it may go anywhere
  std::vector<std::size_t> targets;
  std::optional<std::size_t> callee;
};

/// The targets of an indirect branch: the offsets in "R2, -0x150, {0x1b0, 0x150}". Empty if they are not known.
std::vector<std::size_t> IndirectTargets(const Instructions& instructions, const Instruction& branch) {
  std::vector<std::size_t> targets;
  std::string_view rest = branch.operands;
  const std::size_t open = rest.find('{');
  if (open == std::string_view::npos || !rest.ends_with('}')) return targets;
  rest = rest.substr(open + 1, rest.size() - open - 2);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(", "), rest.size());
    const auto target = InstructionAt(instructions, rest.substr(0, comma));
    if (!target) return {};
    targets.push_back(*target);
    rest.remove_prefix(std::min(comma + 2, rest.size()));
  }
  return targets;
}

Exits ExitsOf(const Instructions& instructions, std::size_t index) {
  const Instruction& instruction = instructions[index];
  const Form form = sass::FormOf(instruction.opcode);
  Exits exits;
  exits.ends_block = sass::IsBranch(form) || sass::IsEnd(form) || form == Form::kCall;
  if (form == Form::kBranch) {
    exits.falls_through = IsConditional(instruction);
    if (const auto target = BranchTarget(instructions, instruction)) exits.targets.push_back(*target);
  } else if (form == Form::kIndirectBranch) {
    exits.falls_through = !instruction.predicate.empty();
    exits.targets = IndirectTargets(instructions, instruction);
    exits.unknown = exits.targets.empty();
  } else if (sass::IsEnd(form)) {
    exits.falls_through = !instruction.predicate.empty();
  } else if (form == Form::kCall) {
    exits.callee = BranchTarget(instructions, instruction);
  }
  return exits;
}

std::string_view FirstOperand(const Instruction& instruction) {
  return std::string_view(instruction.operands).substr(0, instruction.operands.find(','));
}

/// Lets each BSYNC continue where the BSSY that set its register says: usually right after it, but the compiler also
/// puts code with a BSYNC far from there. Several BSSY may reach one BSYNC. One that none reaches, because its register
/// was saved and restored, falls through.
void ResolveConvergence(const Instructions& instructions, std::vector<Exits>& exits) {
  // Nested BSSY are searched once per level. Code that takes more steps than this comes from no compiler.
  std::size_t steps = 16 * instructions.size() + 1'000'000;
  std::vector<std::set<std::size_t>> found(instructions.size());
  std::vector<std::size_t> seen_by(instructions.size(), 0);
  for (std::size_t bssy = 0; bssy < instructions.size(); ++bssy) {
    if (sass::FormOf(instructions[bssy].opcode) != Form::kRegionBegin) continue;
    const std::string_view barrier = FirstOperand(instructions[bssy]);
    const auto target = BranchTarget(instructions, instructions[bssy]);
    if (!target) continue;
    std::vector<std::size_t> pending;
    const auto visit = [&](std::size_t i) {
      if (i >= instructions.size() || seen_by[i] == bssy + 1) return;
      seen_by[i] = bssy + 1;
      pending.push_back(i);
    };
    visit(bssy + 1);
    while (!pending.empty()) {
      if (steps-- == 0) return;
      const std::size_t i = pending.back();
      pending.pop_back();
      const Form form = sass::FormOf(instructions[i].opcode);
      const bool is_same =
          (form == Form::kRegionBegin || form == Form::kRegionEnd) && FirstOperand(instructions[i]) == barrier;
      if (is_same && form == Form::kRegionEnd) found[i].insert(*target);
      if (is_same && instructions[i].predicate.empty()) continue;
      if (exits[i].falls_through) visit(i + 1);
      for (const std::size_t next : exits[i].targets) visit(next);
      if (exits[i].callee) visit(*exits[i].callee);
    }
  }
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    if (found[i].empty() || (found[i].size() == 1 && *found[i].begin() == i + 1)) continue;
    exits[i].ends_block = true;
    exits[i].falls_through = found[i].erase(i + 1) > 0 || !instructions[i].predicate.empty();
    exits[i].targets.assign(found[i].begin(), found[i].end());
  }
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
}

/// By block: whether a RET can be reached from it without leaving the subroutine.
std::vector<bool> ReachesReturn(const Instructions& instructions, const std::vector<BasicBlock>& blocks) {
  std::vector<bool> reaches(blocks.size(), false);
  std::vector<std::size_t> pending;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    if (sass::FormOf(instructions[blocks[block].end - 1].opcode) != Form::kReturn) continue;
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

/// ptxas also jumps with CALL, to distant code that ends the kernel: out of a loop, for example. Code that never
/// returns is not a call.
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

/// A subroutine is as deep in loops as the deepest of its calls.
std::vector<int> BlockDepths(const std::vector<BasicBlock>& blocks) {
  const std::vector<int> own = LoopDepths(blocks);
  std::map<std::size_t, int> calls;  // deepest call, by callee
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    if (!blocks[block].callee) continue;
    int& deepest = calls[*blocks[block].callee];
    deepest = std::max(deepest, own[block]);
  }
  // The deepest calls first: what they reach without leaving the subroutine needs no others.
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

std::optional<std::size_t> BranchTarget(const std::vector<Instruction>& instructions, const Instruction& branch) {
  const std::size_t start = branch.operands.rfind("0x");
  if (start == std::string::npos) return std::nullopt;
  return InstructionAt(instructions, std::string_view(branch.operands).substr(start));
}

ControlFlow ReadControlFlow(const DeviceFunction& function) {
  const Instructions& instructions = function.instructions;
  ControlFlow flow;
  if (instructions.empty()) return flow;

  std::vector<Exits> exits;
  exits.reserve(instructions.size());
  for (std::size_t i = 0; i < instructions.size(); ++i) exits.push_back(ExitsOf(instructions, i));
  ResolveConvergence(instructions, exits);
  std::vector<bool> leads(instructions.size() + 1, false);  // a block begins here
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    flow.unknown_branches += exits[i].unknown ? 1 : 0;
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

std::optional<std::size_t> BarrierPassed(const DeviceFunction& function, const ControlFlow& flow, std::size_t index) {
  struct Way {
    std::size_t length;  // instructions from there back to the end of the block
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
    while (i > block.first && !sass::WaitsAtBarrier(function.instructions[i - 1].opcode)) --i;
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
  // Walks [first, end) backwards to another barrier; returns whether it reached the start.
  const auto take = [&](std::size_t first, std::size_t end) {
    while (end > first && !sass::WaitsAtBarrier(instructions[end - 1].opcode)) region.push_back(--end);
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
      // The subroutine is on the path; its barriers, if it has any, end nothing.
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
