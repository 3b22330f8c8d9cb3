#include "mbarrier_copies.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "inference/constant_parts.h"
#include "inference/flow.h"
#include "inference/operands.h"
#include "inference/values.h"

namespace fa_profile::analyze {
namespace {

/// "[UR17]", the mbarrier's address: of TMA's copies "[UR16][UR24]" it is behind the address of the destination.
std::string BehindFirstRegister(const Instruction& copy) {
  const std::vector<std::string_view> operands = SplitOperands(copy.operands);
  if (operands.empty() || operands[0].size() < 3) return {};
  const auto slot = ReadSlot(operands[0].substr(1));
  if (!slot || IsPredicate(*slot)) return {};
  const bool uniform = *slot >= kFirstUniform;
  return fmt::format("[{}R{}]", uniform ? "U" : "", *slot + 1 - (uniform ? kFirstUniform : 0));
}

/// The address of the mbarrier that a copy completes; empty: the instruction is no such copy.
std::string MbarrierOfCopy(const Instruction& instruction) {
  const std::string_view opcode = instruction.opcode;
  if (opcode.starts_with("UTMALDG.") || opcode.starts_with("UBLKCP")) return BehindFirstRegister(instruction);
  if (opcode.starts_with("ARRIVES.LDGSTSBAR")) return std::string(SharedAddress(instruction));
  return {};
}

}  // namespace

std::vector<std::vector<std::size_t>> CopiesWaitedFor(const DeviceFunction& function,
                                                      const std::vector<MbarrierWait>& waits) {
  std::vector<std::vector<std::size_t>> copies(waits.size());
  std::map<std::size_t, std::string> mbarriers;  // by copy
  std::vector<Operands> operands;
  StepBudget budget;
  for (const Instruction& instruction : function.instructions) {
    std::string mbarrier = MbarrierOfCopy(instruction);
    if (!mbarrier.empty()) mbarriers[operands.size()] = std::move(mbarrier);
    operands.push_back(ReadOperands(instruction));
    if (!budget.Spend(1 + operands.back().uses.size() + operands.back().definitions.size())) return copies;
  }
  if (mbarriers.empty() || waits.empty()) return copies;
  const Flow flow = ReadFlow(function, budget);
  const Values values(operands, flow, budget);
  ConstantParts parts(function, values, budget, ConstantParts::Scaled::kIsIgnored);
  std::map<std::int64_t, std::vector<std::size_t>> by_place;
  for (const auto& [copy, mbarrier] : mbarriers) {
    by_place[parts.OfAddress(static_cast<std::uint32_t>(copy), mbarrier)].push_back(copy);
  }
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const Instruction& question = function.instructions[waits[i].question];
    const std::int64_t place = parts.OfAddress(static_cast<std::uint32_t>(waits[i].question), SharedAddress(question));
    const auto found = by_place.find(place);
    if (place != 0 && found != by_place.end()) copies[i] = found->second;
  }
  if (budget.exhausted()) copies.assign(waits.size(), {});
  return copies;
}

}  // namespace fa_profile::analyze
