#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/finding_rule.h"
#include "fa_profile/kernel_lint.h"
#include "fa_profile/phase_map.h"
#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// A kernel as found in its cubin.
struct KernelCode {
  std::string file;          ///< only for the result
  std::string architecture;  ///< "sm_90a"
  int sm = 0;                ///< 90
  bool has_line_information = false;
  std::uint64_t code_hash = 0;
  std::int64_t code_bytes = 0;
  std::optional<int> registers_per_thread;
  std::optional<std::int64_t> stack_frame_bytes;
  std::int64_t static_shared_memory_bytes = 0;
  std::optional<std::array<int, 3>> max_threads;       ///< __launch_bounds__
  std::optional<std::array<int, 3>> required_threads;  ///< PTX's .reqntid
  std::vector<std::string> externals;                  ///< functions it calls that are in no cubin
  DeviceFunction function;                             ///< disassembled
};

struct LintOptions {
  std::optional<int> threads;  ///< per block; absent: the most that the kernel was compiled for
  std::optional<std::int64_t> dynamic_shared_memory_bytes;  ///< per block; absent: none, if the code allows that
  std::optional<PhaseMap> phase_map;                        ///< for PhaseSource::kMap and kBest
  PhaseSource phase_source = PhaseSource::kBest;
};

/// What can be said about a kernel without running it. Pure.
///
/// Spills differ from arrays in three habits of ptxas, which hold for sm_75 to sm_120: the last reload of a spilled
/// register is a "last use" load (LDL.LU), spill slots are above all arrays of the stack frame, and an array whose
/// indices are all constant is in registers. So accesses to the frame at a constant offset, at or above the lowest
/// offset that LDL.LU loads from, are spills; and if the code computes no address in the frame, so is each store and
/// load of bytes that are both stored and loaded.
///
/// If control flow is not known (KernelLint::unknown_branches), findings that need loops are left out.
KernelLint Lint(const KernelCode& kernel, const LintOptions& options = {});

/// Lint's findings, in the order in which a kernel's are listed. Their texts are the Markdown files in
/// profiler/analyze/findings/lint/.
const std::vector<FindingRule>& LintRules();

/// The row with this id. Throws Error, with near matches or the command that has it, for any other.
const FindingRule& RequireLintFinding(std::string_view id);

/// What an SM of a compute capability (90: 9.0) can hold, in the fields of Device that occupancy depends on; the number
/// of SMs is set to 1. Nothing for an unknown one. CUDA C++ Programming Guide, technical specifications per compute
/// capability; CUDA 13's cuda_occupancy.h agrees.
std::optional<Device> SmLimits(int sm);

}  // namespace fa_profile::analyze
