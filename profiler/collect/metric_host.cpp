#include "fa_profile/metric_host.h"

#include <cupti.h>
#include <cupti_range_profiler.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "check_cupti.h"
#include "fa_profile/error.h"
#include "fa_profile/metric_catalogue.h"
#include "fa_profile/metric_names.h"
#include "host_object.h"
#include "plan_cache.h"

namespace fa_profile::collect {
namespace {

constexpr std::array kMetricTypes = {CUPTI_METRIC_TYPE_COUNTER, CUPTI_METRIC_TYPE_RATIO, CUPTI_METRIC_TYPE_THROUGHPUT};

// Edit distances to a chip's 3,600 names take milliseconds per word. Only a list typed by hand gets near matches; for a
// long built-in list, made for another chip, they would take seconds.
constexpr int kMaxSuggestions = 20;

// " a b c"
std::string Listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += " " + word;
  return text;
}

HostObject OpenChip(const std::string& chip, std::span<const std::uint8_t> availability) {
  const std::vector<std::string> chips = SupportedChips();
  if (std::find(chips.begin(), chips.end(), chip) == chips.end()) {
    throw Error("this CUPTI does not know chip '" + chip + "'" + DidYouMean(chip, chips), "it knows" + Listed(chips));
  }
  return HostObject(chip, availability);
}

// A metric's unit: "sm" of "sm__cycles_active.avg". Counters of one unit are configured by the same rules.
std::string Unit(const std::string& metric) { return metric.substr(0, metric.find("__")); }

// Which metrics a chip has, by name, without asking CUPTI to configure them.
class NameCheck {
 public:
  explicit NameCheck(const HostObject& host) : host_(host) {
    for (const CUpti_MetricType type : kMetricTypes) {
      for (const char* name : host.BaseMetrics(type)) bases_.try_emplace(name, Base{type, {}});
    }
  }

  /// Why the chip cannot provide `metric`; empty: judging by the name, it can.
  std::string Refusal(const std::string& metric) {
    // Base names hold dots too ("TPC.TriageCompute.sm__cycles_active"), so take the longest base that fits.
    for (std::size_t end = metric.size(); end != std::string::npos && end > 0; end = metric.rfind('.', end - 1)) {
      const auto base = bases_.find(metric.substr(0, end));
      if (base == bases_.end()) continue;
      std::vector<std::string>& known = base->second.submetrics;
      if (known.empty()) known = host_.SubMetrics(base->second.type, base->first);
      if (std::find(known.begin(), known.end(), metric.substr(end)) != known.end()) return {};
      const std::string wrong = end == metric.size() ? "has no rollup" : metric.substr(end) + " is not known";
      return wrong + "; the name ends with one of" + Listed(known);
    }
    return "the chip has no counter of this name" + Suggestion(metric);
  }

 private:
  struct Base {
    CUpti_MetricType type;
    std::vector<std::string> submetrics;  // queried when first needed
  };

  std::string Suggestion(const std::string& metric) {
    if (suggestions_++ >= kMaxSuggestions) return {};
    if (names_.empty()) {
      for (const auto& entry : bases_) names_.push_back(entry.first);
      std::sort(names_.begin(), names_.end());
    }
    // Compared without the rollup, which would hide the difference.
    return DidYouMean(MetricBase(metric), names_);
  }

  const HostObject& host_;
  std::unordered_map<std::string, Base> bases_;
  std::vector<std::string> names_;
  int suggestions_ = 0;
};

// Finds, among existing metrics, a largest set that CUPTI configures together; what it refuses goes to `refused`.
class Fitting {
 public:
  Fitting(const std::string& chip, std::span<const std::uint8_t> availability, std::vector<DataLoss>& refused)
      : chip_(chip), availability_(availability), refused_(refused) {}

  /// The object that took those of `metrics` that fit, which stay there in order; it takes nothing if none fits.
  HostObject Fit(std::vector<std::string>& metrics) {
    DropUnitsThatDoNotShare(metrics);
    HostObject host(chip_, availability_);
    if (metrics.empty() || host.AddMetrics(metrics)) return host;
    std::vector<std::string> accepted;
    Bisect(metrics, accepted);
    metrics = std::move(accepted);
    HostObject fresh(chip_, availability_);
    if (!metrics.empty() && !fresh.AddMetrics(metrics)) {
      throw Error("cuptiProfilerHostConfigAddMetrics", "", "metrics accepted one by one were refused together");
    }
    return fresh;
  }

 private:
  bool Together(std::span<const std::string> metrics) {
    return HostObject(chip_, availability_).AddMetrics(metrics);  // a fresh object: a refusal poisons it
  }

  // Whether the chip itself can. An object with an availability image takes a tenth of a second to make, and DropUnits
  // needs a hundred.
  bool ChipTakesTogether(std::span<const std::string> metrics) { return HostObject(chip_, {}).AddMetrics(metrics); }

  // Some units cannot share a configuration (PCIe and NVLink byte counters). Trying one metric of each unit takes
  // milliseconds, where trying all metrics takes half a second. The units with most metrics stay.
  void DropUnitsThatDoNotShare(std::vector<std::string>& metrics) {
    std::unordered_map<std::string, std::size_t> sizes;
    std::vector<std::string> samples;
    for (const std::string& metric : metrics) {
      if (sizes[Unit(metric)]++ == 0) samples.push_back(metric);
    }
    if (ChipTakesTogether(samples)) return;
    std::stable_sort(samples.begin(), samples.end(),
                     [&](const auto& a, const auto& b) { return sizes[Unit(a)] > sizes[Unit(b)]; });
    std::vector<std::string> kept;
    std::unordered_set<std::string> dropped;
    for (const std::string& sample : samples) {
      kept.push_back(sample);
      if (ChipTakesTogether(kept)) continue;
      kept.pop_back();
      // A metric refused on its own is not its unit's fault; bisection will find it.
      if (ChipTakesTogether(std::span(&sample, 1))) dropped.insert(Unit(sample));
    }
    std::erase_if(metrics, [&](const std::string& metric) {
      if (!dropped.contains(Unit(metric))) return false;
      Refuse(metric, "CUPTI cannot collect it together with the other metrics: ask for it alone");
      return true;
    });
  }

  // Adds to `accepted` those of `metrics` that can be configured together with what is already there.
  void Bisect(std::span<const std::string> metrics, std::vector<std::string>& accepted) {
    const std::size_t before = accepted.size();
    accepted.insert(accepted.end(), metrics.begin(), metrics.end());
    if (Together(accepted)) return;
    accepted.resize(before);
    if (metrics.size() == 1) {
      Refuse(metrics[0], before == 0 || !Together(metrics)
                             ? "CUPTI lists it but cannot configure it"
                             : "CUPTI cannot collect it together with the other metrics: ask for it alone");
      return;
    }
    Bisect(metrics.first(metrics.size() / 2), accepted);
    Bisect(metrics.subspan(metrics.size() / 2), accepted);
  }

  void Refuse(const std::string& metric, const std::string& reason) {
    refused_.push_back({"metric_unavailable", metric, reason, 1});
  }

  const std::string& chip_;
  std::span<const std::uint8_t> availability_;
  std::vector<DataLoss>& refused_;
};

std::uint32_t CuptiVersion() {
  std::uint32_t version = 0;
  CheckCupti(cuptiGetVersion(&version), "cuptiGetVersion");
  return version;
}

}  // namespace

std::vector<std::string> SupportedChips() {
  const auto params = CallCupti(cuptiProfilerHostGetSupportedChips, "cuptiProfilerHostGetSupportedChips",
                                {.structSize = CUpti_Profiler_Host_GetSupportedChips_Params_STRUCT_SIZE});
  return {params.ppChipNames, params.ppChipNames + params.numChips};
}

MetricPlan PlanMetrics(const std::string& chip, std::span<const std::string> metrics,
                       std::span<const std::uint8_t> availability, const std::string& cache_dir) {
  const PlanRequest request = {chip, CuptiVersion(), availability, metrics};
  if (!cache_dir.empty()) {
    if (std::optional<MetricPlan> cached = ReadCachedPlan(cache_dir, request)) return *std::move(cached);
  }

  MetricPlan plan;
  plan.chip = chip;
  {
    const HostObject host = OpenChip(chip, availability);
    NameCheck check(host);
    std::unordered_set<std::string> seen;
    for (const std::string& metric : metrics) {
      if (!seen.insert(metric).second) continue;
      std::string refusal = check.Refusal(metric);
      if (refusal.empty()) {
        plan.metrics.push_back(metric);
      } else {
        plan.refused.push_back({"metric_unavailable", metric, std::move(refusal), 1});
      }
    }
  }
  const HostObject host = Fitting(chip, availability, plan.refused).Fit(plan.metrics);
  if (plan.metrics.empty()) {
    std::string first;
    if (!plan.refused.empty()) first = ": " + plan.refused[0].subject + ": " + plan.refused[0].reason;
    throw Error(chip + " can collect none of the " + std::to_string(metrics.size()) + " metrics" + first,
                "`fa-profile list counters --chip " + chip + "` lists what it can collect");
  }
  plan.config_image = host.ConfigImage();
  plan.passes = NumPasses(plan.config_image);
  if (!cache_dir.empty()) (void)WriteCachedPlan(cache_dir, request, plan);
  return plan;
}

std::string PlanCacheFolder() {
  if (const char* const cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return std::string(cache) + "/fa-profile";
  }
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home != '\0' ? std::string(home) + "/.cache/fa-profile" : std::string();
}

MetricSet WantedMetrics(const std::vector<std::string>& metrics, const std::string& set_name, const Device& device) {
  if (!metrics.empty()) return {"custom", "given with --metrics", metrics, {}};
  MetricSet set = BuiltinMetricSet(set_name, device.chip);
  if (set.name != "full") return set;
  // What our own catalogue reads beyond Nsight Compute's set: twelve counters on GH100, which add no pass. Names for
  // other chips are left out, and so are the `TriageCompute` alternatives, which are for the single pass of set phases
  // and would add one.
  const std::set<std::string> known = CounterNames(device.chip);
  for (const std::string& input : CatalogueInputs()) {
    if (input.find("TriageCompute") == std::string::npos && known.contains(std::string(MetricBase(input)))) {
      set.metrics.push_back(input);
    }
  }
  std::ranges::sort(set.metrics);
  const auto repeated = std::ranges::unique(set.metrics);
  set.metrics.erase(repeated.begin(), repeated.end());
  return set;
}

namespace {

// CUPTI reads past the image for an index that does not exist.
void CheckRange(std::span<const std::uint8_t> image, std::size_t index) {
  const std::size_t ranges = MetricEvaluator::NumRanges(image);
  if (index < ranges) return;
  throw Error("the counter data image has " + std::to_string(ranges) + " ranges: there is no range " +
              std::to_string(index));
}

}  // namespace

MetricEvaluator::MetricEvaluator(const std::string& chip, std::span<const std::uint8_t> availability)
    : host_(std::make_unique<HostObject>(OpenChip(chip, availability))) {}
MetricEvaluator::~MetricEvaluator() = default;
MetricEvaluator::MetricEvaluator(MetricEvaluator&&) noexcept = default;
MetricEvaluator& MetricEvaluator::operator=(MetricEvaluator&&) noexcept = default;

std::map<std::string, double> MetricEvaluator::Evaluate(std::span<const std::uint8_t> image, std::size_t index,
                                                        std::span<const std::string> metrics) const {
  CheckRange(image, index);
  return host_->Evaluate(image, index, metrics);
}

std::size_t MetricEvaluator::NumRanges(std::span<const std::uint8_t> image) {
  // Otherwise CUPTI answers "not initialised": functions that read images load nothing by themselves.
  static const std::vector<std::string> initialized = SupportedChips();
  const auto params = CallCupti(cuptiRangeProfilerGetCounterDataInfo, "cuptiRangeProfilerGetCounterDataInfo",
                                {.structSize = CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE,
                                 .pCounterDataImage = image.data(),
                                 .counterDataImageSize = image.size()});
  return params.numTotalRanges;
}

std::string MetricEvaluator::RangeName(std::span<const std::uint8_t> image, std::size_t index) {
  CheckRange(image, index);
  const auto params = CallCupti(cuptiRangeProfilerCounterDataGetRangeInfo, "cuptiRangeProfilerCounterDataGetRangeInfo",
                                {.structSize = CUpti_RangeProfiler_CounterData_GetRangeInfo_Params_STRUCT_SIZE,
                                 .pCounterDataImage = image.data(),
                                 .counterDataImageSize = image.size(),
                                 .rangeIndex = index,
                                 .rangeDelimiter = "/"});
  // CUPTI allocates the name and leaves it to its caller.
  const std::unique_ptr<const char, decltype([](const char* name) { std::free(const_cast<char*>(name)); })> name(
      params.rangeName);
  return name == nullptr ? std::string() : std::string(name.get());
}

std::set<std::string> CounterNames(const std::string& chip) {
  const HostObject host = OpenChip(chip, {});
  std::set<std::string> names;
  for (const CUpti_MetricType type : kMetricTypes) {
    for (const char* name : host.BaseMetrics(type)) names.insert(name);
  }
  return names;
}

std::vector<ChipMetric> ChipMetrics(const std::string& chip) {
  static constexpr std::array kTypeNames = {"counter", "ratio", "throughput"};
  const HostObject host = OpenChip(chip, {});
  std::vector<ChipMetric> metrics;
  for (const CUpti_MetricType type : kMetricTypes) {
    for (const char* name : host.BaseMetrics(type)) {
      const auto params = CallCupti(cuptiProfilerHostGetMetricProperties, "cuptiProfilerHostGetMetricProperties",
                                    {.structSize = CUpti_Profiler_Host_GetMetricProperties_Params_STRUCT_SIZE,
                                     .pHostObject = host.get(),
                                     .pMetricName = name});
      const auto text = [](const char* string) { return string == nullptr ? std::string() : std::string(string); };
      metrics.push_back({name, kTypeNames[type], text(params.pDescription), text(params.pDimUnit)});
    }
  }
  std::sort(metrics.begin(), metrics.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return metrics;
}

}  // namespace fa_profile::collect
