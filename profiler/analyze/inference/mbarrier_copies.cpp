#include "mbarrier_copies.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "fa_profile/opcodes.h"
#include "inference/constant_parts.h"
#include "inference/flow.h"
#include "inference/operands.h"
#include "inference/values.h"

namespace fa_profile::analyze {
namespace {

/// CUDA keeps the first KiB of shared memory. An address below that lacks its base.
constexpr std::int64_t kFirstPlace = 0x400;

/// The mbarrier's address, "[UR17]": in TMA copies "[UR16][UR24]" it comes after the destination's address.
std::string BehindFirstRegister(const Instruction& copy) {
  const std::vector<std::string_view> operands = SplitOperands(copy.operands);
  if (operands.empty() || operands[0].size() < 3) return {};
  const auto slot = ReadSlot(operands[0].substr(1));
  if (!slot || IsPredicate(*slot)) return {};
  const bool uniform = *slot >= kFirstUniform;
  return fmt::format("[{}R{}]", uniform ? "U" : "", *slot + 1 - (uniform ? kFirstUniform : 0));
}

/// The address of the mbarrier that a copy completes; empty: the instruction completes none.
std::string MbarrierOfCopy(const Instruction& instruction) {
  if (sass::FillsSharedMemory(instruction.opcode)) return BehindFirstRegister(instruction);
  const bool is_arrival = sass::FormOf(instruction.opcode) == Form::kCopyArrival;
  return is_arrival ? std::string(SharedAddress(instruction)) : std::string();
}

}  // namespace

MbarrierCopies CopiesWaitedFor(const DeviceFunction& function, const std::vector<MbarrierWait>& waits) {
  MbarrierCopies found{{}, std::vector<std::optional<std::size_t>>(waits.size())};
  std::map<std::size_t, std::string> mbarriers;  // by copy
  std::vector<std::size_t> arrivals;
  std::vector<Operands> operands;
  StepBudget budget;
  for (const Instruction& instruction : function.instructions) {
    std::string mbarrier = MbarrierOfCopy(instruction);
    if (!mbarrier.empty()) mbarriers[operands.size()] = std::move(mbarrier);
    if (sass::ArrivesAtMbarrier(instruction.opcode)) arrivals.push_back(operands.size());
    operands.push_back(ReadOperands(instruction));
    if (!budget.Spend(1 + operands.back().uses.size() + operands.back().definitions.size())) return found;
  }
  if (mbarriers.empty() || waits.empty()) return found;
  const Flow flow = ReadFlow(function, budget);
  const Values values(operands, flow, budget);
  ConstantParts parts(function, values, budget, ConstantParts::Rule::kOnlyKnown);
  const auto place_of = [&](std::size_t i, std::string_view address) {
    const auto place = parts.KnownOfAddress(static_cast<std::uint32_t>(i), address);
    return place && *place >= kFirstPlace ? place : std::nullopt;
  };
  std::map<std::int64_t, CopyGroup> by_place;
  for (const auto& [copy, mbarrier] : mbarriers) {
    if (const auto place = place_of(copy, mbarrier)) by_place[*place].push_back(copy);
  }
  for (const std::size_t arrival : arrivals) {
    if (const auto place = place_of(arrival, SharedAddress(function.instructions[arrival]))) by_place.erase(*place);
  }
  std::map<std::int64_t, std::size_t> groups;
  for (auto& [place, copies] : by_place) {
    groups[place] = found.groups.size();
    found.groups.push_back(std::move(copies));
  }
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const std::size_t question = waits[i].question;
    const auto place = place_of(question, SharedAddress(function.instructions[question]));
    const auto group = place ? groups.find(*place) : groups.end();
    if (group != groups.end()) found.group_of_wait[i] = group->second;
  }
  if (budget.exhausted()) return {{}, std::vector<std::optional<std::size_t>>(waits.size())};
  return found;
}

}  // namespace fa_profile::analyze
