#pragma once

#include "fa_profile/metric_catalogue.h"

namespace fa_profile {

// How the rows of both catalogues name polarity and stability.
inline constexpr auto kHigher = Polarity::kHigherIsBetter;
inline constexpr auto kLower = Polarity::kLowerIsBetter;
inline constexpr auto kNeutral = Polarity::kNeutral;
inline constexpr auto kExact = Stability::kDeterministic;
inline constexpr auto kNoisy = Stability::kNoisy;

}  // namespace fa_profile
