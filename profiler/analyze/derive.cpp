#include "derive.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "fa_profile/expression.h"
#include "fa_profile/metric_catalogue.h"

namespace fa_profile {
namespace {

/// The variables of formulas, by name. What is not known is not in it.
using Variables = std::map<std::string, double>;

double DurationNs(const Launch& launch) { return ElapsedNs(launch.start_ns, launch.end_ns); }

template <typename Number>
void SetIfPositive(Variables& variables, const char* name, Number value) {
  if (value > 0) variables[name] = static_cast<double>(value);
}

void AddLaunches(const DeriveInputs& inputs, Variables& variables) {
  const std::vector<Launch>& launches = *inputs.launches;
  const Launch* longest = LongestLaunch(launches);
  if (longest == nullptr) return;
  SetIfPositive(variables, "launch.registers_per_thread", longest->registers_per_thread);
  // Zero is an answer here, and a good one.
  variables["launch.local_memory_per_thread_bytes"] = static_cast<double>(longest->local_memory_per_thread_bytes);
  variables["launch.shared_memory_per_block_bytes"] = static_cast<double>(longest->static_shared_memory_bytes) +
                                                      static_cast<double>(longest->dynamic_shared_memory_bytes);
  if (inputs.several_kernels && launches.size() > 1) {
    double busy = 0.0;
    for (const Launch& launch : launches) busy += DurationNs(launch);
    const auto first = std::ranges::min_element(launches, {}, &Launch::start_ns);
    const auto last = std::ranges::max_element(launches, {}, &Launch::end_ns);
    variables["launch.busy_ns"] = busy;
    variables["launch.span_ns"] = ElapsedNs(first->start_ns, last->end_ns);
  }
}

// What a value per elapsed time of the range is multiplied with to refer to the call's own duration. Kernel replay
// measures the kernel alone. A user range that was not timed has no correction, and such values stay absent.
std::optional<double> ElapsedCorrection(const DeriveInputs& inputs) {
  if (!inputs.user_ranges) return 1.0;
  if (inputs.timing == nullptr || inputs.counters == nullptr || inputs.timing->median_ns <= 0.0) return std::nullopt;
  const auto range = inputs.counters->find("gpu__time_duration.sum");
  if (range == inputs.counters->end()) return std::nullopt;
  return range->second / inputs.timing->median_ns;
}

Variables MakeVariables(const DeriveInputs& inputs) {
  Variables variables;
  const Device& device = *inputs.device;
  if (device.warp_size > 0) {
    SetIfPositive(variables, "device.max_warps_per_sm", device.max_threads_per_sm / device.warp_size);
  }
  SetIfPositive(variables, "device.sm_count", device.sm_count);
  AddLaunches(inputs, variables);
  if (inputs.occupancy != nullptr) {
    variables["launch.theoretical_occupancy_ratio"] = inputs.occupancy->theoretical_ratio;
    SetIfPositive(variables, "launch.waves", inputs.occupancy->waves);
  }
  if (inputs.shape != nullptr) variables["shape.flops"] = inputs.shape->Flops();
  if (inputs.timing != nullptr) {
    variables["timing.median_ns"] = inputs.timing->median_ns;
    if (inputs.parts_median_ns) variables["timing.parts_median_ns"] = *inputs.parts_median_ns;
  }
  if (const auto correction = ElapsedCorrection(inputs)) variables["range.elapsed_correction"] = *correction;
  return variables;
}

struct ParsedMetric {
  const CatalogueMetric* metric;
  Expression formula;
};

const std::vector<ParsedMetric>& ParsedCatalogue() {
  static const std::vector<ParsedMetric> parsed = [] {
    std::vector<ParsedMetric> result;
    for (const CatalogueMetric& metric : MetricCatalogue()) result.push_back({&metric, Expression(metric.formula)});
    return result;
  }();
  return parsed;
}

}  // namespace

const Launch* LongestLaunch(const std::vector<Launch>& launches) {
  const auto longest = std::ranges::max_element(launches, {}, DurationNs);
  return longest == launches.end() ? nullptr : &*longest;
}

std::map<std::string, double> DeriveMetrics(const DeriveInputs& inputs) {
  const Variables variables = MakeVariables(inputs);
  const Lookup lookup = [&](const std::string& name) -> std::optional<double> {
    if (const auto found = variables.find(name); found != variables.end()) return found->second;
    if (inputs.counters == nullptr) return std::nullopt;
    const auto found = inputs.counters->find(name);
    return found == inputs.counters->end() ? std::nullopt : std::optional(found->second);
  };
  std::map<std::string, double> values;
  for (const ParsedMetric& parsed : ParsedCatalogue()) {
    if (const auto value = parsed.formula.Evaluate(lookup)) values.emplace(parsed.metric->id, *value);
  }
  return values;
}

}  // namespace fa_profile
