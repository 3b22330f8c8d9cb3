#include "fa_profile/compare_tensor.h"

#include <cmath>

namespace fa_profile {
namespace {

// |error| / tolerance; a tolerance of 0 allows no error.
double ErrorRatio(double error, double expected, const Tolerance& tolerance) {
  if (error == 0.0) return 0.0;
  const double allowed = tolerance.absolute + tolerance.relative * std::fabs(expected);
  return std::isfinite(error) && error < allowed * kLargestRatio ? error / allowed : kLargestRatio;
}

void CountUnwritten(TensorErrors& errors, std::size_t index) {
  if (!errors.first_unwritten) errors.first_unwritten = static_cast<std::int64_t>(index);
  ++errors.unwritten;
}

void CompareFinite(TensorErrors& errors, std::size_t index, double value, double expected, const Tolerance& tolerance) {
  const double error = std::fabs(value - expected);
  const double ratio = ErrorRatio(error, expected, tolerance);
  if (std::isfinite(error)) errors.max_abs_error = std::fmax(errors.max_abs_error, error);
  if (ratio > 1.0 && (!errors.worst || ratio > errors.max_error_ratio)) errors.worst = static_cast<std::int64_t>(index);
  errors.max_error_ratio = std::fmax(errors.max_error_ratio, ratio);
}

bool IsInteger(NumberFormat format) { return format == NumberFormat::kInt8 || format == NumberFormat::kInt32; }

}  // namespace

TensorErrors CompareTensor(NumberFormat format, std::span<const std::byte> elements, std::span<const double> expected,
                           const Tolerance& tolerance, bool poisoned) {
  TensorErrors errors;
  const std::uint32_t poison = PoisonOf(format);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::uint32_t bits = LoadBits(format, elements, i);
    const double value = Decode(format, bits);
    const bool same = value == expected[i] || (std::isnan(value) && std::isnan(expected[i]));
    if (poisoned && bits == poison && (!IsInteger(format) || !same)) {
      CountUnwritten(errors, i);
    } else if (std::isfinite(value)) {
      CompareFinite(errors, i, value, expected[i], tolerance);
    } else if (!same) {
      if (!errors.first_nonfinite) errors.first_nonfinite = static_cast<std::int64_t>(i);
      ++errors.nonfinite;
    }
  }
  return errors;
}

TensorErrors FindUnwritten(NumberFormat format, std::span<const std::byte> elements) {
  TensorErrors errors;
  if (IsInteger(format)) return errors;
  const std::uint32_t poison = PoisonOf(format);
  for (std::size_t i = 0; i < elements.size() / BytesOf(format); ++i) {
    if (LoadBits(format, elements, i) == poison) CountUnwritten(errors, i);
  }
  return errors;
}

}  // namespace fa_profile
