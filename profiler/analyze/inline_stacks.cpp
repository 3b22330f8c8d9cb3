#include "fa_profile/inline_stacks.h"

#include "fa_profile/opcodes.h"
#include "mbarrier_waits.h"

namespace fa_profile::analyze {
std::vector<const std::vector<InlineFrame>*> InlineStacks(const DeviceFunction& function) {
  std::vector<const std::vector<InlineFrame>*> stacks;
  stacks.reserve(function.instructions.size());
  const Instruction* fence = nullptr;
  for (const Instruction& instruction : function.instructions) {
    if (sass::BeginsProducts(instruction.opcode)) fence = &instruction;
    const bool takes_fence =
        fence != nullptr && !fence->frames.empty() && sass::FormOf(instruction.opcode) == sass::Form::kWarpgroupMatrix;
    stacks.push_back(takes_fence ? &fence->frames : &instruction.frames);
  }
  for (const MbarrierWait& wait : MbarrierWaits(function)) {
    const std::vector<InlineFrame>& loop = function.instructions[wait.loop_last].frames;
    if (!wait.early() || loop.empty()) continue;
    stacks[wait.question] = &loop;
    stacks[wait.branch] = &loop;
  }
  return stacks;
}

}  // namespace fa_profile::analyze
