#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// Index of the instruction at the offset that ends the operands; nothing if none begins there.
std::optional<std::size_t> BranchTarget(const std::vector<Instruction>& instructions, const Instruction& branch);

/// Instructions that only run one after the other: [first, end) in a function, and the blocks that can come next.
struct BasicBlock {
  std::size_t first = 0;
  std::size_t end = 0;
  std::vector<std::size_t>
      successors;  ///< indices of blocks, without duplicates; for a subroutine call, the block after it
  std::vector<std::size_t> predecessors;
  std::optional<std::size_t> callee;  ///< first block of the subroutine that the last instruction calls
};

/// Which instruction can follow which in one function.
///
/// Read from opcodes, predicates and branch targets ("0x2b0" in the operands). A branch with a predicate, or with a
/// condition among its operands, may fall through. BSYNC continues where the BSSY that reaches it says. A CALL of code
/// that reaches no RET is a jump. An indirect branch (BRX, JMX) goes to the targets in its operands; without them it
/// has no edge, and `unknown_branches` counts it. RET and EXIT end a path. A target outside the function, or between
/// two instructions, is ignored: any sequence of instructions has a graph.
struct ControlFlow {
  std::vector<BasicBlock> blocks;     ///< in the order of their code; the first is the entry
  std::vector<std::size_t> block_of;  ///< by instruction
  std::vector<int> loop_depth;        ///< by instruction: number of loops around it, including those around calls of
                                      ///< its subroutine
  int unknown_branches = 0;           ///< indirect branches without known targets: more may be in loops than shown
};

ControlFlow ReadControlFlow(const DeviceFunction& function);

/// The barrier that a warp at `index` waits at: that instruction itself, or the last one that it passed, by the
/// shortest path back. BAR.SYNC.DEFER_BLOCKING lets a warp go on until something needs the barrier, so a waiting warp
/// is found up to some instructions after it. Nothing if no barrier is on the path from the entry.
std::optional<std::size_t> BarrierPassed(const DeviceFunction& function, const ControlFlow& flow, std::size_t index);

/// The instructions from which the barrier at index `barrier` is the next one that a warp waits at, including
/// subroutines called on the way, but not the barrier itself. A warp that waits there waits for warps at one of these.
/// Sorted indices.
std::vector<std::size_t> WaitedFor(const DeviceFunction& function, const ControlFlow& flow, std::size_t barrier);

}  // namespace fa_profile::analyze
