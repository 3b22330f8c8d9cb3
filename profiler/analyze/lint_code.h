#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "control_flow.h"
#include "fa_profile/lint.h"

namespace fa_profile::analyze {

/// What lint and its rules read from a kernel's instructions.
struct LintCode {
  ControlFlow flow;
  std::vector<std::string> phase_of;  ///< by instruction
  LocalAccesses spills;
  LocalAccesses arrays;
  std::vector<std::size_t> spill_instructions;
  std::vector<std::size_t> array_instructions;
  int register_addressed = 0;  ///< among the array accesses: those whose address is not the stack pointer plus a
                               ///< constant
};

/// `phases`: by instruction.
LintCode ReadLintCode(const DeviceFunction& function, std::vector<std::string> phases);

/// NOPs, and the branch to itself that ends the code: padding that never runs.
bool IsPadding(const Instruction& instruction);

/// Whether the code accesses shared memory, directly or by asynchronous copies and matrix instructions.
bool UsesSharedMemory(const DeviceFunction& function);

/// Counts by phase and loop depth.
std::vector<PhaseCode> CountByPhase(const DeviceFunction& function, const LintCode& code);

/// Whether the instruction is of a kind named in kLintCounts: "tensor", ...
bool IsCounted(const Instruction& instruction, std::string_view what);

/// The innermost loop around an instruction: its blocks, and those of loops in it. Empty if there is none. A loop that
/// only calls the instruction's subroutine is not seen.
std::vector<std::size_t> LoopAround(const ControlFlow& flow, std::size_t instruction);

}  // namespace fa_profile::analyze
