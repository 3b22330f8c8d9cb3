#include "fa_profile/static_metrics.h"

#include <algorithm>
#include <array>
#include <string>

namespace fa_profile::gate {
namespace {

constexpr auto kHigher = Polarity::kHigherIsBetter;
constexpr auto kLower = Polarity::kLowerIsBetter;
constexpr auto kNeutral = Polarity::kNeutral;

constexpr std::array kStaticMetrics = {
    StaticMetric{"registers_per_thread", "registers per thread", "count", kNeutral, false},
    StaticMetric{"spill_bytes", "spilled bytes per thread", "bytes", kLower, false},
    StaticMetric{"stack_frame_bytes", "stack frame per thread", "bytes", kLower, false},
    StaticMetric{"local_array_bytes", "local arrays' bytes per thread", "bytes", kLower, false},
    StaticMetric{"static_shared_memory_bytes", "static shared memory", "bytes", kNeutral, false},
    StaticMetric{"blocks_per_sm", "resident blocks per SM", "count", kHigher, false},
    StaticMetric{"local_accesses", "loads and stores of local memory", "count", kLower, false},
    StaticMetric{"loop_local_accesses", "loads and stores of local memory in loops", "count", kLower, false},
    StaticMetric{"static_instructions", "instructions in the code", "instructions", kLower, true},
    StaticMetric{"static_tensor_instructions", "tensor instructions in the code", "instructions", kNeutral, true},
};

/// Its name in CodeFacts::counts; null: it is not a count.
constexpr const char* CountOf(std::string_view id) {
  return id == "static_instructions" ? "instructions" : id == "static_tensor_instructions" ? "tensor" : nullptr;
}

std::optional<double> Count(const CodeFacts& code, const std::string& phase, const std::string& count) {
  if (code.counts.empty()) return std::nullopt;
  const auto in = [&](const std::map<std::string, int>& counts) {
    const auto found = counts.find(count);
    return found == counts.end() ? 0.0 : found->second;
  };
  if (const auto found = code.counts.find(phase); found != code.counts.end()) return in(found->second);
  double sum = 0.0;
  for (const auto& [name, counts] : code.counts) sum += phase.empty() ? in(counts) : 0.0;
  return sum;
}

template <typename Integer>
std::optional<double> AsDouble(const std::optional<Integer>& value) {
  return value ? std::optional<double>(static_cast<double>(*value)) : std::nullopt;
}

}  // namespace

std::span<const StaticMetric> StaticMetrics() { return kStaticMetrics; }

const StaticMetric* FindStaticMetric(std::string_view id) {
  const auto* const found = std::ranges::find(kStaticMetrics, id, &StaticMetric::id);
  return found == kStaticMetrics.end() ? nullptr : found;
}

std::optional<double> StaticValue(const CodeFacts& code, std::string_view phase, std::string_view id) {
  if (const char* const count = CountOf(id)) return Count(code, std::string(phase), count);
  if (!phase.empty()) return std::nullopt;
  if (id == "registers_per_thread") return AsDouble(code.registers_per_thread);
  if (id == "spill_bytes") return static_cast<double>(code.spill_bytes);
  if (id == "stack_frame_bytes") return AsDouble(code.stack_frame_bytes);
  if (id == "local_array_bytes") return static_cast<double>(code.local_array_bytes);
  if (id == "static_shared_memory_bytes") return static_cast<double>(code.static_shared_memory_bytes);
  if (id == "blocks_per_sm") return AsDouble(code.blocks_per_sm);
  return std::nullopt;
}

}  // namespace fa_profile::gate
