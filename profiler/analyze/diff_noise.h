#pragma once

#include <optional>
#include <string>

#include "derive.h"
#include "fa_profile/metric_catalogue.h"
#include "fa_profile/profile.h"

namespace fa_profile::analyze {

/// Standard deviation of durations of the same code between cards of one model: the gate's `between_cards`
/// (docs/gate-reference.md).
inline constexpr double kCardSpread = 0.024;

/// Three standard errors of the ratio of two durations on two cards.
double CardError();

/// How far median durations of the same code may differ by chance, as a ratio of `before`'s: three standard errors, of
/// each sample's median, between processes, and between cards if it ran on two: that alone if a side was not timed.
double TimeError(const ProfileEntry& before, const ProfileEntry& after, bool two_cards);

/// How much the values of one kernel, or of one of its phases, vary from run to run. Only noisy metrics have an error;
/// deterministic ones may move by half a percent, as in the gate.
class DiffNoise {
 public:
  /// For the whole kernel. `two_cards`: the sides ran on two cards of one model.
  DiffNoise(const ProfileEntry& before, const ProfileEntry& after, bool two_cards);
  /// For a phase with these metrics.
  DiffNoise(const ProfileEntry& before, const ProfileEntry& after, const Metrics& phase_before,
            const Metrics& phase_after, bool two_cards);

  /// The change does not exceed the error. `min_ratio`: the least relative change of a noisy metric that counts.
  bool Covers(const CatalogueMetric& metric, double before, double after, double min_ratio) const;

 private:
  double ErrorOf(const CatalogueMetric& metric, double size) const;
  double ShareError(const std::string& metric) const;

  const Metrics& before_;
  const Metrics& after_;
  bool of_phase_ = false;
  double time_ratio_ = 0.0;    ///< TimeError()
  double call_seconds_ = 0.0;  ///< the longer call
  double samples_before_ = 0.0, samples_after_ = 0.0;
};

}  // namespace fa_profile::analyze
