#include "fa_profile/measured_code.h"

#include <algorithm>

namespace fa_profile::analyze {

std::vector<const DeviceFunction*> MeasuredFunctions(const Recording& recording,
                                                     const std::vector<const PcSampling*>& samplings,
                                                     const std::vector<const SassCounting*>& countings) {
  std::set<std::int64_t> ids;
  for (const PcSampling* sampling : samplings) {
    if (sampling == nullptr) continue;
    for (const PcSample& sample : sampling->samples) ids.insert(sample.function_id);
  }
  for (const SassCounting* counting : countings) {
    if (counting == nullptr) continue;
    for (const SassCount& count : counting->counts) ids.insert(count.function_id);
  }
  std::vector<const DeviceFunction*> functions;
  for (const DeviceFunction& function : recording.functions) {
    if (ids.contains(function.id)) functions.push_back(&function);
  }
  return functions;
}

std::vector<const DeviceFunction*> MeasuredFunctions(const Recording& recording, std::int64_t case_id) {
  std::vector<const PcSampling*> samplings;
  std::vector<const SassCounting*> countings;
  for (const PcSampling& sampling : recording.samplings) {
    if (sampling.case_id == case_id) samplings.push_back(&sampling);
  }
  for (const SassCounting& counting : recording.countings) {
    if (counting.case_id == case_id) countings.push_back(&counting);
  }
  return MeasuredFunctions(recording, samplings, countings);
}

std::optional<std::size_t> IndexOf(const DeviceFunction& function, std::uint32_t offset) {
  const auto found = std::ranges::lower_bound(function.instructions, offset, {}, &Instruction::offset);
  if (found == function.instructions.end() || found->offset != offset) return std::nullopt;
  return static_cast<std::size_t>(found - function.instructions.begin());
}

std::vector<double> ExecutedOf(const DeviceFunction& function, const SassCounting* counting) {
  std::vector<double> executed;
  if (counting == nullptr) return executed;
  for (const SassCount& count : counting->counts) {
    if (count.function_id != function.id) continue;
    const auto index = IndexOf(function, count.offset);
    const auto value = count.values.find(kExecuted);
    if (!index || value == count.values.end()) continue;
    executed.resize(function.instructions.size(), 0.0);
    executed[*index] += static_cast<double>(value->second);
  }
  return executed;
}

std::set<std::string> UnavailableMetrics(const Recording& recording) {
  std::set<std::string> unavailable;
  for (const DataLoss& loss : recording.losses) {
    if (loss.kind == "metric_unavailable") unavailable.insert(loss.subject);
  }
  return unavailable;
}

}  // namespace fa_profile::analyze
