#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// Index of the instruction at the offset that ends the operands; nothing where none begins there.
std::optional<std::size_t> BranchTarget(const std::vector<Instruction>& instructions, const Instruction& branch);

/// Instructions that only run one after the other: [first, end) of a function's, and the blocks that can come next.
struct BasicBlock {
  std::size_t first = 0;
  std::size_t end = 0;
  std::vector<std::size_t>
      successors;  ///< indices of blocks, without duplicates; where a subroutine is called, after it
  std::vector<std::size_t> predecessors;
  std::optional<std::size_t> callee;  ///< first block of the subroutine that the last instruction calls
};

/// Which instruction can follow which in one function.
///
/// Read from opcodes, predicates and branch targets ("0x2b0" in the operands). A branch with a predicate, and one with
/// a condition among its operands, may fall through. BSYNC goes on where the BSSY that reaches it says. A CALL of code
/// that reaches no RET is a jump. An indirect branch (BRX, JMX) goes to the targets in its operands; without them it
/// has no edge, and `unknown_branches` counts it. RET and EXIT end a path. A target outside the function, or between
/// two instructions, is ignored: any sequence of instructions has a graph.
struct ControlFlow {
  std::vector<BasicBlock> blocks;     ///< in the order of their code; the first is the entry
  std::vector<std::size_t> block_of;  ///< by instruction
  std::vector<int> loop_depth;        ///< by instruction: loops it is in, those around calls of its subroutine included
  int unknown_branches = 0;           ///< indirect branches without known targets: more may be in loops than shown
};

ControlFlow ReadControlFlow(const DeviceFunction& function);

/// The barrier that a warp at `index` waits at: that instruction itself, or the last one it came past, by
/// the shortest way back. BAR.SYNC.DEFER_BLOCKING lets a warp go on until something needs the barrier, so a warp that
/// waits is found up to some instructions after it. Nothing when no barrier is on the way from the entry.
std::optional<std::size_t> BarrierPassed(const DeviceFunction& function, const ControlFlow& flow, std::size_t index);

/// The instructions from which the barrier at index `barrier` is the next one that a warp waits at, subroutines called
/// on the way included; the barrier itself is not among them. A warp that waits there waits for warps at one of these.
/// Sorted indices.
std::vector<std::size_t> WaitedFor(const DeviceFunction& function, const ControlFlow& flow, std::size_t barrier);

}  // namespace fa_profile::analyze
