#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/gpu_api.h"
#include "fa_profile/metric_sets.h"

namespace fa_profile::collect {

class HostObject;

/// Chips that this CUPTI supports, by name ("GH100").
std::vector<std::string> SupportedChips();

/// Validates `metrics` against the chip and builds the config image in one ConfigAddMetrics call (several calls would
/// each get separate passes). Needs no GPU. `availability` is the device's counter availability image; empty
/// plans for everything the chip has. `cache_dir`: where validated plans are kept, keyed by chip, CUPTI version,
/// availability and metric list; empty: no cache. A corrupt cache entry is ignored and rewritten; a cache that cannot
/// be written is not an error.
/// Throws Error: unknown chip (with the known ones), no metric accepted.
MetricPlan PlanMetrics(const std::string& chip, std::span<const std::string> metrics,
                       std::span<const std::uint8_t> availability = {}, const std::string& cache_dir = {});

/// Where validated plans are kept: $XDG_CACHE_HOME/fa-profile or ~/.cache/fa-profile; empty when neither is set.
std::string PlanCacheFolder();

/// `metrics`, CUPTI names, or if empty those of the set for this device. Besides Nsight Compute's metrics, the set
/// "full" has every counter that our catalogue reads. Throws Error: unknown set.
MetricSet WantedMetrics(const std::vector<std::string>& metrics, const std::string& set_name, const Device& device);

/// Evaluates decoded counter data images. Needs no GPU. One per chip; keeps a host object open. One thread.
///
/// Images must be complete, as CUPTI made them: CUPTI trusts them, and a damaged one can crash it. Check what you read
/// from a file first (the recording's compressed frames carry a checksum). Throws Error: an empty image, a range that
/// is not in it, a metric that the chip lacks.
class MetricEvaluator {
 public:
  explicit MetricEvaluator(const std::string& chip, std::span<const std::uint8_t> availability = {});
  ~MetricEvaluator();
  MetricEvaluator(MetricEvaluator&&) noexcept;
  MetricEvaluator& operator=(MetricEvaluator&&) noexcept;

  /// Values of `metrics` for range `index` of the image; a metric that evaluates to NaN or infinity is left out.
  std::map<std::string, double> Evaluate(std::span<const std::uint8_t> image, std::size_t index,
                                         std::span<const std::string> metrics) const;

  /// Ranges in the image.
  static std::size_t NumRanges(std::span<const std::uint8_t> image);
  /// Name of range `index`, nested names joined by "/".
  static std::string RangeName(std::span<const std::uint8_t> image, std::size_t index);

 private:
  std::unique_ptr<HostObject> host_;
};

/// Base names ("sm__cycles_active") of every metric the chip has. Throws Error for an unknown chip.
std::set<std::string> CounterNames(const std::string& chip);

/// Every metric name, with its description and unit, of a chip: what `fa-profile list counters --chip` prints.
struct ChipMetric {
  std::string name;  ///< base name, "sm__cycles_active"
  std::string type;  ///< "counter", "ratio", "throughput"
  std::string description;
  std::string unit;  ///< dimension as CUPTI states it
};
std::vector<ChipMetric> ChipMetrics(const std::string& chip);

}  // namespace fa_profile::collect
