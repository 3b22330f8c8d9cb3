#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "fa_profile/kernel_description.h"

namespace fa_profile {

/// An error this many times the tolerance, or more: also one where none is allowed, or where the reference is infinite.
inline constexpr double kLargestRatio = 1e9;

/// What a comparison of one tensor found. Indices are of elements.
struct TensorErrors {
  double max_abs_error = 0.0;    ///< over finite elements
  double max_error_ratio = 0.0;  ///< |error| / tolerance, over finite elements; at most kLargestRatio
  std::int64_t nonfinite = 0;    ///< NaN or infinite where the reference differs, not counting poison
  std::int64_t unwritten = 0;    ///< still poison
  std::optional<std::int64_t> first_unwritten;
  std::optional<std::int64_t> first_nonfinite;
  std::optional<std::int64_t> worst;  ///< with the largest ratio above 1

  bool passes() const { return nonfinite == 0 && unwritten == 0 && max_error_ratio <= 1.0; }
};

/// Compares the elements of a tensor in memory with `expected`. An in-place tensor was not poisoned: `poisoned` false.
/// A NaN is right where the reference is NaN, an infinity where it is the same one. An integer that equals the poison
/// counts as unwritten if it is wrong.
TensorErrors CompareTensor(NumberFormat format, std::span<const std::byte> elements, std::span<const double> expected,
                           const Tolerance& tolerance, bool poisoned);

/// The first element that still holds the poison. Of integers, whose poison is a number: absent.
TensorErrors FindUnwritten(NumberFormat format, std::span<const std::byte> elements);

}  // namespace fa_profile
