#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "judge.h"

namespace fa_profile::gate {
namespace {

/// An unknown value is compatible with any other.
void CheckSame(const std::string& what, const std::string& base, const std::string& candidate,
               std::vector<std::string>& reasons) {
  if (base.empty() || candidate.empty() || base == candidate) return;
  reasons.push_back(
      fmt::format("{}: {} in the base, {} in the candidate", what, OneLine(base, 60), OneLine(candidate, 60)));
}

void CheckClock(const std::string& what, std::int64_t base, std::int64_t candidate, std::vector<std::string>& reasons) {
  const auto text = [](std::int64_t hz) { return hz > 0 ? fmt::format("{} MHz", hz / 1'000'000) : std::string(); };
  if (base != candidate) CheckSame(what, text(base), text(candidate), reasons);
}

std::set<std::string> Architectures(const Evidence& evidence) {
  std::set<std::string> architectures;
  for (const CaseFacts& facts : evidence.cases) {
    for (const CodeFacts& code : facts.code) architectures.insert(code.architecture);
  }
  return architectures;
}

}  // namespace

std::vector<std::string> Incomparable(const GateInput& input) {
  std::vector<std::string> reasons;
  const Environment& base = input.base.environment;
  const Environment& candidate = input.candidate.environment;
  if (input.design == "static") {
    const auto before = Architectures(input.base);
    const auto after = Architectures(input.candidate);
    const bool shared = std::ranges::any_of(before, [&](const std::string& name) { return after.contains(name); });
    if (!shared)
      CheckSame("architecture", fmt::format("{}", fmt::join(before, ", ")), fmt::format("{}", fmt::join(after, ", ")),
                reasons);
    return reasons;
  }
  CheckSame("GPU", base.gpu_name, candidate.gpu_name, reasons);
  CheckSame("driver", base.driver_version, candidate.driver_version, reasons);
  CheckSame("CUDA of the driver", base.cuda_driver_version, candidate.cuda_driver_version, reasons);
  CheckSame("CUDA runtime", base.cuda_runtime_version, candidate.cuda_runtime_version, reasons);
  CheckClock("highest SM clock", base.sm_clock_max_hz, candidate.sm_clock_max_hz, reasons);
  CheckClock("highest memory clock", base.memory_clock_max_hz, candidate.memory_clock_max_hz, reasons);
  // These must be known: otherwise the two sides may come from different machines.
  for (const auto& [side, environment] : {std::pair{"base", &base}, std::pair{"candidate", &candidate}}) {
    if (environment->gpu_name.empty()) reasons.push_back(fmt::format("GPU: unknown in the {}", side));
    if (input.design == "pairs" && environment->gpu_uuid.empty()) {
      reasons.push_back(fmt::format("UUID of the GPU: unknown in the {}", side));
    }
  }
  // Two GPUs of one model differ by more than the tolerance.
  if (input.design == "pairs") CheckSame("UUID of the GPU", base.gpu_uuid, candidate.gpu_uuid, reasons);
  return reasons;
}

}  // namespace fa_profile::gate
