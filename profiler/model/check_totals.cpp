#include <algorithm>
#include <array>
#include <cstdio>

#include "fa_profile/error.h"
#include "fa_profile/exported_metrics.h"
#include "fa_profile/totals.h"
#include "fa_profile/totals_sums.h"

namespace fa_profile {
namespace {

// The location of a number in the totals, for the error.
class Place {
 public:
  explicit Place(double most) : most_(most) {}
  Place In(const std::string& what, const std::string& name) const {
    Place inner = *this;
    inner.words_ += (words_.empty() ? "" : ", ") + what + " '" + name + "'";
    return inner;
  }
  void Sum(const std::string& name, double value) const { Limited(name, value, most_); }
  void Calls(const std::string& name, double value) const { Limited(name, value, std::min(most_, kMostCalls)); }
  void Sum(const std::string& name, const std::optional<double>& value) const {
    if (value) Sum(name, *value);
  }
  void Gauge(const std::string& name, const ExportedMetric& metric, double value) const {
    ValueBounds bounds = BoundsOf(metric);
    bounds.most = std::min(bounds.most, most_);
    if (bounds.Hold(value)) return;
    Refuse(name, value, bounds.whole ? "0 or 1" : "from " + Text(bounds.least) + " to " + Text(bounds.most));
  }

 private:
  void Limited(const std::string& name, double value, double most) const {
    if (!(value >= 0 && value <= most)) Refuse(name, value, "from 0 to " + Text(most));
  }
  static std::string Text(double value) {
    std::array<char, 32> text{};
    (void)std::snprintf(text.data(), text.size(), "%g", value);
    return text.data();
  }
  [[noreturn]] void Refuse(const std::string& name, double value, const std::string& range) const {
    throw Error(words_ + ": " + name + " is " + Text(value) + " and must be " + range + ": it is not counted",
                "record again; if it comes back, report it");
  }

  double most_;
  std::string words_;
};

void Check(const Place& place, const ShapeTotals& shape) {
  for (const auto& sum : kShapeSums) place.Sum(sum.name, shape.*sum.value);
  for (const double count : shape.duration_counts) place.Calls("duration_counts", count);
  for (const auto& [phase, ratio] : shape.phase_ratios) {
    place.In("phase", phase).Gauge("phase_ratios", *FindExported("faprof_kernel_phase_ratio"), ratio);
  }
}

void Check(const Place& place, const PhaseTotals& phase) {
  place.Sum("cycles", phase.cycles);
  for (const auto& sum : kPhaseSums) place.Sum(sum.name, phase.*sum.value);
  for (const auto& [reason, cycles] : phase.stall_cycles) place.In("reason", reason).Sum("stall_cycles", cycles);
}

const ExportedMetric& KernelGauge(const std::string& name) {
  const ExportedMetric* const metric = FindExported(name);
  if (metric == nullptr || metric->type != ExportedType::kGauge || metric->labels != "gpu kernel") {
    throw Error("'" + name + "' must be an exported gauge of a kernel");
  }
  return *metric;
}

void Check(const Place& place, const KernelTotals& kernel) {
  for (const auto& sum : kKernelSums) place.Sum(sum.name, kernel.*sum.value);
  for (const auto& [name, value] : kernel.gauges) place.Gauge(name, KernelGauge(name), value);
  place.Sum("idle_seconds", kernel.idle_seconds);
  for (const auto& [bucket, shape] : kernel.shapes) Check(place.In("shape", bucket), shape);
  for (const auto& [name, phase] : kernel.phases) Check(place.In("phase", name), phase);
}

}  // namespace

void CheckTotals(const Totals& totals, double most) {
  const Place place(most);
  place.Sum("folded", totals.folded);
  place.Sum("merged", totals.merged);
  for (const auto& [index, gpu] : totals.gpus) {
    if (index < 0 || index >= kMostGpus) {
      throw Error("the GPU's number is " + std::to_string(index) + " and must be from 0 to " +
                  std::to_string(kMostGpus - 1) + ": it is not counted");
    }
    for (const auto& [name, kernel] : gpu.kernels) Check(place.In("kernel", name), kernel);
  }
}

}  // namespace fa_profile
