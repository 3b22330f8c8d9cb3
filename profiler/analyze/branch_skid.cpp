#include "branch_skid.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "fa_profile/measured_code.h"
#include "fa_profile/opcodes.h"

namespace fa_profile::analyze {
namespace {

bool LeavesThisWay(const Instruction& instruction) {
  const sass::Form form = sass::FormOf(instruction.opcode);
  return sass::IsBranch(form) || sass::IsEnd(form) || form == sass::Form::kCall || form == sass::Form::kRegionEnd;
}

using ByOffset = std::map<std::uint32_t, PcSample>;

// A share, 0..1, of any count; a recording can hold counts that a double cannot.
std::uint64_t PartOf(std::uint64_t count, double share) {
  const double part = std::round(share * static_cast<double>(count));
  return part < static_cast<double>(count) ? static_cast<std::uint64_t>(part) : count;
}

// Gives the branch before `behind` its part of the samples there.
void GiveBack(double executed, double taken, std::uint32_t branch, PcSample& behind, ByOffset& samples) {
  const double share = taken / (taken + executed);
  for (auto reason = behind.samples.begin(); reason != behind.samples.end();) {
    const bool of_the_slot = executed == 0.0 || reason->first == "selected" || reason->first == "wait";
    const std::uint64_t moved = of_the_slot ? PartOf(reason->second, share) : 0;
    if (moved > 0) {
      PcSample& to = samples.try_emplace(branch, PcSample{behind.function_id, branch, {}}).first->second;
      to.samples[reason->first] += moved;
      reason->second -= moved;
    }
    reason = reason->second == 0 ? behind.samples.erase(reason) : std::next(reason);
  }
}

}  // namespace

PcSampling WithoutBranchSkid(const std::vector<const DeviceFunction*>& functions, const PcSampling& sampling,
                             const SassCounting& counting) {
  std::map<std::int64_t, std::map<std::uint32_t, double>> executed;
  for (const SassCount& count : counting.counts) {
    const auto found = count.values.find(kExecuted);
    if (found != count.values.end()) executed[count.function_id][count.offset] = static_cast<double>(found->second);
  }
  std::map<std::int64_t, ByOffset> samples;
  for (const PcSample& pc : sampling.samples) samples[pc.function_id].emplace(pc.offset, pc);

  for (const DeviceFunction* const function : functions) {
    const auto counts = executed.find(function->id);
    const auto sampled = samples.find(function->id);
    if (counts == executed.end() || sampled == samples.end()) continue;
    const auto times = [&](const Instruction& instruction) {
      const auto found = counts->second.find(instruction.offset);
      return found == counts->second.end() ? 0.0 : found->second;
    };
    for (std::size_t i = 0; i + 1 < function->instructions.size(); ++i) {
      const Instruction& branch = function->instructions[i];
      const Instruction& behind = function->instructions[i + 1];
      const double taken = times(branch) - times(behind);
      const auto found = sampled->second.find(behind.offset);
      if (!LeavesThisWay(branch) || taken <= 0.0 || found == sampled->second.end()) continue;
      GiveBack(times(behind), taken, branch.offset, found->second, sampled->second);
    }
  }

  PcSampling corrected = sampling;
  corrected.samples.clear();
  for (auto& [id, by_offset] : samples) {
    for (auto& [offset, pc] : by_offset) {
      if (!pc.samples.empty()) corrected.samples.push_back(std::move(pc));
    }
  }
  return corrected;
}

}  // namespace fa_profile::analyze
