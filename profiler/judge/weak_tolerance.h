#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fa_profile/kernel_description.h"

namespace fa_profile::judge {

/// What else a tolerance accepts, and which fraction of it does not.
struct WeakTolerance {
  /// "zeros", "the mean of all elements", "the mean over extent 1", "the reference rounded to bf16"; empty: none of
  /// them.
  std::string accepts;
  /// Fraction of the tolerance that refuses all of them with a margin of four; 1 if it accepts none.
  double part = 1.0;
};

/// The nearest number with this many bits after the first, 1 to 51.
double RoundToBits(int bits, double value);

/// Tries substitutes for `expected`, a row-major tensor of `extents`, that need no computing.
WeakTolerance FindWeakTolerance(NumberFormat format, const Tolerance& tolerance, std::span<const double> expected,
                                std::span<const std::int64_t> extents);

}  // namespace fa_profile::judge
