#include "derive.h"

#include <algorithm>
#include <optional>
namespace fa_profile::analyze {
namespace {

/// Two passes of the same code may differ by this much, and so may a profiled range and the timed call.
constexpr double kPassSlack = 0.02;
/// Warp states are counted in some twenty passes, which add up to 1 less exactly.
constexpr double kStatesSlack = 0.1;

double DurationNs(const Launch& launch) { return ElapsedNs(launch.start_ns, launch.end_ns); }

template <typename Number>
void SetIfPositive(Metrics& variables, const char* name, Number value) {
  if (value > 0) variables[name] = static_cast<double>(value);
}

void AddLaunches(const DeriveInputs& inputs, Metrics& variables) {
  const std::vector<Launch>& launches = *inputs.launches;
  const Launch* longest = LongestLaunch(launches);
  if (longest == nullptr) return;
  SetIfPositive(variables, "launch.registers_per_thread", longest->registers_per_thread);
  // Zero is a valid answer here, and a good one.
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

// Factor that converts a value per elapsed time of the range to the call's own duration. Kernel replay measures only
// the kernel. A user range that was not timed has no correction, and such values stay absent.
std::optional<double> ElapsedCorrection(const DeriveInputs& inputs) {
  if (!inputs.user_ranges) return 1.0;
  if (inputs.timing == nullptr || inputs.counters == nullptr || inputs.timing->median_ns <= 0.0) return std::nullopt;
  const auto range_ns = Find(*inputs.counters, "gpu__time_duration.sum");
  return range_ns ? std::optional(*range_ns / inputs.timing->median_ns) : std::nullopt;
}

Metrics MakeVariables(const DeriveInputs& inputs) {
  Metrics variables;
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
  if (inputs.work.flops) variables["shape.flops"] = *inputs.work.flops;
  if (inputs.timing != nullptr) {
    variables["timing.median_ns"] = inputs.timing->median_ns;
    if (inputs.parts_median_ns) variables["timing.parts_median_ns"] = *inputs.parts_median_ns;
  }
  if (const auto correction = ElapsedCorrection(inputs)) variables["range.elapsed_correction"] = *correction;
  return variables;
}

/// A warp is in one state at a time. In a program each pass is another launch, whose work may differ.
void DropContradictoryStates(Derived& derived) {
  double sum = 0.0;
  for (const auto& [id, ratio] : derived.metrics) sum += IsWarpState(id) ? ratio : 0.0;
  const bool all = std::ranges::all_of(MetricCatalogue(), [&](const CatalogueMetric& metric) {
    return !IsWarpState(metric.id) || derived.metrics.contains(std::string(metric.id));
  });
  if (sum <= 1.0 + kStatesSlack && (!all || sum >= 1.0 - kStatesSlack)) return;
  std::erase_if(derived.metrics, [&](const auto& metric) {
    if (!IsWarpState(metric.first)) return false;
    derived.contradictory.push_back(metric.first);
    return true;
  });
}

}  // namespace

bool IsWarpState(std::string_view metric) { return metric.starts_with("stall_") || metric == "warp_issuing_ratio"; }

std::optional<double> Find(const Metrics& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

ParsedCatalogue::ParsedCatalogue(std::span<const CatalogueMetric> catalogue, double slack) : slack_(slack) {
  for (const CatalogueMetric& metric : catalogue) formulas_.emplace_back(&metric, Expression(metric.formula));
}

Derived ParsedCatalogue::Evaluate(const Lookup& lookup) const {
  Derived derived;
  for (const auto& [metric, formula] : formulas_) {
    auto value = formula.Evaluate(lookup);
    if (!value) continue;
    if (metric->unit == "ratio") {
      if (*value < -slack_ || *value > 1.0 + slack_) {
        derived.contradictory.emplace_back(metric->id);
        continue;
      }
      value = std::clamp(*value, 0.0, 1.0);
    }
    derived.metrics.emplace(metric->id, *value);
  }
  return derived;
}

const Launch* LongestLaunch(const std::vector<Launch>& launches) {
  const auto longest = std::ranges::max_element(launches, {}, DurationNs);
  return longest == launches.end() ? nullptr : &*longest;
}

Derived DeriveMetrics(const DeriveInputs& inputs) {
  static const ParsedCatalogue catalogue(MetricCatalogue(), kPassSlack);
  const Metrics variables = MakeVariables(inputs);
  Derived derived = catalogue.Evaluate([&](const std::string& name) {
    const auto variable = Find(variables, name);
    return variable || inputs.counters == nullptr ? variable : Find(*inputs.counters, name);
  });
  DropContradictoryStates(derived);
  return derived;
}

}  // namespace fa_profile::analyze
