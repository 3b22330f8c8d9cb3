#pragma once

#include "fa_profile/metric_catalogue.h"

namespace fa_profile {

// Short names for polarity and stability in the rows of both catalogues.
inline constexpr auto kHigher = Polarity::kHigherIsBetter;
inline constexpr auto kLower = Polarity::kLowerIsBetter;
inline constexpr auto kNeutral = Polarity::kNeutral;
inline constexpr auto kExact = Stability::kDeterministic;
inline constexpr auto kNoisy = Stability::kNoisy;

}  // namespace fa_profile
