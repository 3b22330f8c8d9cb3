#include "fa_profile/inline_stacks.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "mbarrier_waits.h"

namespace fa_profile::analyze {
namespace {

bool IsWarpgroupMatrix(std::string_view opcode) {
  constexpr std::array<std::string_view, 4> kOpcodes = {"HGMMA", "IGMMA", "QGMMA", "BGMMA"};
  return std::ranges::any_of(kOpcodes, [&](std::string_view name) { return opcode.starts_with(name); });
}

}  // namespace

std::vector<const std::vector<InlineFrame>*> InlineStacks(const DeviceFunction& function) {
  std::vector<const std::vector<InlineFrame>*> stacks;
  stacks.reserve(function.instructions.size());
  const Instruction* fence = nullptr;
  for (const Instruction& instruction : function.instructions) {
    if (instruction.opcode.starts_with("WARPGROUP.ARRIVE")) fence = &instruction;
    const bool takes_fence = fence != nullptr && !fence->frames.empty() && IsWarpgroupMatrix(instruction.opcode);
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
