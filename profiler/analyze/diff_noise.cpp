#include "diff_noise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace fa_profile::analyze {
namespace {

/// Number of standard errors beyond which a difference is not chance.
constexpr double kErrors = 3.0;

/// Standard deviation of durations between processes of the same code on an H200, the gate's largest
/// (docs/gate-reference.md).
constexpr double kProcessSpread = 0.0063;

/// A phase's share of the time (like other shares) varies by this much between runs.
constexpr double kShareTolerance = 0.01;

/// Retries and spinning warps change otherwise deterministic counts by this much; the gate's limit.
constexpr double kExactTolerance = 0.005;

/// Time between a call's launches that is due to the CPU: in 20 recordings of the same code it varied by up to 23 us
/// (ci/gate/data/h200-trials.json).
constexpr double kLaunchGapSeconds = 25e-6;

/// Parts of a whole: below a hundredth of it they do not matter, however much they changed.
constexpr std::array<std::pair<std::string_view, const char*>, 3> kParts = {{
    {"shared_excess_wavefronts", "shared_wavefronts"},
    {"shared_conflicts_per_request", "shared_wavefronts_per_request"},
    {"dram_bytes", "l2_bytes"},
}};

/// Three standard errors of the difference of two medians, in nanoseconds (for normal durations: sigma is (p95 - p05) /
/// 3.29, the error of a median 1.25 sigma / sqrt(n)), and at least two ticks of the activity records' clock, if they
/// come from it. Fewer than five launches, often a program's first, give no useful spread: a quarter of their median.
double MedianError(const TimingSummary& before, const TimingSummary& after) {
  const double ticks_ns = before.method == "activity" || after.method == "activity" ? 64.0 : 0.0;
  constexpr std::size_t kFew = 5;
  constexpr double kFewRatio = 0.25;
  const auto error = [](const TimingSummary& timing) {
    return 1.25 * (timing.p95_ns - timing.p05_ns) / 3.29 / std::sqrt(static_cast<double>(timing.samples));
  };
  const bool few = std::min(before.samples, after.samples) < kFew;
  return std::max(
      {kErrors * std::hypot(error(before), error(after)), ticks_ns, few ? kFewRatio * before.median_ns : 0.0});
}

double LargerOf(const Metrics& before, const Metrics& after, const std::string& metric) {
  return std::max(Find(before, metric).value_or(0.0), Find(after, metric).value_or(0.0));
}

/// Variance of a share from this many samples.
double Variance(double share, double samples) {
  const double p = std::clamp(share, 0.0, 1.0);
  return samples > 0.0 ? p * (1.0 - p) / samples : 0.0;
}

}  // namespace

double CardError() { return kErrors * std::sqrt(2.0) * kCardSpread; }

double TimeError(const ProfileEntry& before, const ProfileEntry& after, bool two_cards) {
  const double of_cards = two_cards ? CardError() : 0.0;
  if (!before.timing || !after.timing || before.timing->median_ns <= 0.0) return of_cards;
  const double of_medians = MedianError(*before.timing, *after.timing) / before.timing->median_ns;
  return std::hypot(of_medians, kErrors * std::sqrt(2.0) * kProcessSpread, of_cards);
}

DiffNoise::DiffNoise(const ProfileEntry& before, const ProfileEntry& after, bool two_cards)
    : before_(before.metrics), after_(after.metrics), time_ratio_(TimeError(before, after, two_cards)) {
  if (before.timing && after.timing) call_seconds_ = std::max(before.timing->median_ns, after.timing->median_ns) * 1e-9;
}

DiffNoise::DiffNoise(const ProfileEntry& before, const ProfileEntry& after, const Metrics& phase_before,
                     const Metrics& phase_after, bool two_cards)
    : before_(phase_before), after_(phase_after), of_phase_(true), time_ratio_(TimeError(before, after, two_cards)) {
  if (before.timing && after.timing) call_seconds_ = std::max(before.timing->median_ns, after.timing->median_ns) * 1e-9;
  samples_before_ = static_cast<double>(before.phases->samples);
  samples_after_ = static_cast<double>(after.phases->samples);
}

/// For shares from counting PC samples: of all samples, or of the phase's own.
double DiffNoise::ShareError(const std::string& metric) const {
  const auto before = Find(before_, metric);
  const auto after = Find(after_, metric);
  if (!before || !after) return 0.0;
  const bool of_own = metric == "phase_waiting_ratio" || metric == "phase_async_wait_ratio";
  const auto own = [&](const Metrics& side) {
    return of_own ? Find(side, "phase_warp_time_ratio").value_or(1.0) : 1.0;
  };
  return kErrors *
         std::sqrt(Variance(*before, samples_before_ * own(before_)) + Variance(*after, samples_after_ * own(after_)));
}

double DiffNoise::ErrorOf(const CatalogueMetric& metric, double size) const {
  const std::string id(metric.id);
  if (id == "gap_launches_seconds") return kLaunchGapSeconds;
  const auto part = std::ranges::find(kParts, metric.id, [](const auto& one) { return one.first; });
  if (part != kParts.end()) return kShareTolerance * LargerOf(before_, after_, part->second);
  if (metric.unit == "seconds") {
    if (!of_phase_) return time_ratio_ * size;
    // The phase's share of the samples times the time of the call: both have an error.
    const double of_share = ShareError("phase_time_ratio") * call_seconds_;
    return std::max(kShareTolerance * call_seconds_, std::hypot(of_share, time_ratio_ * size));
  }
  if (metric.unit == "ratio") return std::max({kShareTolerance, ShareError(id), of_phase_ ? 0.0 : time_ratio_ * size});
  if (metric.unit == "flops_per_second" || metric.unit == "bytes_per_second") return time_ratio_ * size;
  return 0.0;
}

bool DiffNoise::Covers(const CatalogueMetric& metric, double before, double after, double min_ratio) const {
  const double change = std::abs(after - before);
  if (metric.stability == Stability::kDeterministic) return change < kExactTolerance * std::abs(before);
  if (change < min_ratio * std::abs(before)) return true;
  return change < ErrorOf(metric, std::abs(before));
}

}  // namespace fa_profile::analyze
