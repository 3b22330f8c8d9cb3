#include "weak_tolerance.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

namespace fa_profile::judge {
namespace {

// The largest error relative to what is allowed; at most 1: accepted. `infinity` if there is one where none is allowed.
double LargestRatio(const Tolerance& tolerance, std::span<const double> expected, std::span<const double> given) {
  double largest = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (given[i] == expected[i] || (std::isnan(expected[i]) && std::isnan(given[i]))) continue;
    const double allowed = tolerance.absolute + tolerance.relative * std::fabs(expected[i]);
    const double ratio = std::fabs(given[i] - expected[i]) / allowed;
    if (!(ratio <= 1.0)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, ratio);
  }
  return largest;
}

double MeanOf(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Each element is the mean of those that differ from it only in their place on `axis`.
std::vector<double> MeansOver(std::size_t axis, std::span<const double> values, std::span<const std::int64_t> extents) {
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < extents.size(); ++i) inner *= static_cast<std::size_t>(extents[i]);
  const auto along = static_cast<std::size_t>(extents[axis]);
  std::vector<double> means(values.size());
  std::vector<double> row(inner);
  for (std::size_t start = 0; start < values.size(); start += along * inner) {
    std::ranges::fill(row, 0.0);
    for (std::size_t i = 0; i < along; ++i) {
      for (std::size_t column = 0; column < inner; ++column) row[column] += values[start + i * inner + column];
    }
    for (double& sum : row) sum /= static_cast<double>(along);
    for (std::size_t i = 0; i < along; ++i) std::ranges::copy(row, means.begin() + start + i * inner);
  }
  return means;
}

// Bits after the first in a type two steps less precise: bf16 for fp32, fp8 e5m2 for types with 16 bits; 0: none.
int MuchFewerBits(NumberFormat format) {
  switch (format) {
    case NumberFormat::kFp32:
      return 7;
    case NumberFormat::kFp16:
    case NumberFormat::kBf16:
      return 2;
    default:
      return 0;
  }
}

}  // namespace

double RoundToBits(int bits, double value) {
  if (!std::isfinite(value)) return value;
  const std::uint64_t unit = std::uint64_t{1} << (52 - bits);
  const std::uint64_t rounded = (std::bit_cast<std::uint64_t>(value) + unit / 2) & ~(unit - 1);
  return std::bit_cast<double>(rounded);
}

WeakTolerance FindWeakTolerance(NumberFormat format, const Tolerance& tolerance, std::span<const double> expected,
                                std::span<const std::int64_t> extents) {
  constexpr double kMargin = 4.0;
  constexpr double kSame = 1e-12;  // relative to the largest value: equal to the result, up to float64's rounding
  WeakTolerance found;
  double largest = 0.0;
  for (const double value : expected) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  const auto attempt = [&](const std::vector<double>& given, const std::string& words) {
    if (LargestRatio({kSame * largest, 0.0}, expected, given) <= 1.0) return;
    const double ratio = LargestRatio(tolerance, expected, given);
    if (ratio > 1.0) return;
    if (found.accepts.empty()) found.accepts = words;
    found.part = std::min(found.part, ratio / kMargin);
  };
  if (expected.empty()) return found;
  attempt(std::vector<double>(expected.size(), 0.0), "zeros");
  attempt(std::vector<double>(expected.size(), MeanOf(expected)), "the mean of all elements");
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] > 1) attempt(MeansOver(axis, expected, extents), fmt::format("the mean over extent {}", axis));
  }
  if (const int bits = MuchFewerBits(format); bits > 0) {
    std::vector<double> rounded(expected.begin(), expected.end());
    for (double& value : rounded) value = RoundToBits(bits, value);
    attempt(rounded, fmt::format("the reference rounded to {} significant bits", bits + 1));
  }
  return found;
}

}  // namespace fa_profile::judge
