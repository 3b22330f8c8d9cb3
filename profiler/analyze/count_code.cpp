#include "fa_profile/count_code.h"

#include "lint_code.h"

namespace fa_profile::analyze {

CodeCounts CountCode(const DeviceFunction& function) {
  const ControlFlow flow = ReadControlFlow(function);
  CodeCounts counts;
  counts.unknown_branches = flow.unknown_branches;
  for (std::size_t i = 0; i < function.instructions.size(); ++i) {
    const Instruction& instruction = function.instructions[i];
    if (IsPadding(instruction)) continue;
    const bool is_local = IsCounted(instruction, "local");
    const bool is_in_loop = flow.loop_depth[i] > 0;
    ++counts.instructions;
    counts.loop_instructions += is_in_loop ? 1 : 0;
    counts.local_accesses += is_local ? 1 : 0;
    counts.loop_local_accesses += is_local && is_in_loop ? 1 : 0;
    counts.tensor_instructions += IsCounted(instruction, "tensor") ? 1 : 0;
  }
  return counts;
}

}  // namespace fa_profile::analyze
