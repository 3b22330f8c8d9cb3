#include "fa_profile/compare_tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace fa_profile::compare_tensor_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<std::byte> Memory(NumberFormat format, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * BytesOf(format));
  for (std::size_t i = 0; i < values.size(); ++i) StoreBits(format, bytes, i, Encode(format, values[i]));
  return bytes;
}

TensorErrors Compared(const std::vector<double>& values, const std::vector<double>& expected,
                      const Tolerance& tolerance = {0.1, 0.0}) {
  return CompareTensor(NumberFormat::kFp32, Memory(NumberFormat::kFp32, values), expected, tolerance, true);
}

TEST(CompareTensorTest, ErrorsWithinTheToleranceAreRight) {
  const TensorErrors errors = Compared({1.0, 2.05, -3.0}, {1.0, 2.0, -3.0});
  EXPECT_TRUE(errors.passes());
  EXPECT_NEAR(errors.max_abs_error, 0.05, 1e-6);
  EXPECT_NEAR(errors.max_error_ratio, 0.5, 1e-5);
  EXPECT_FALSE(errors.worst);
}

TEST(CompareTensorTest, TheRelativePartGrowsWithTheReference) {
  EXPECT_TRUE(Compared({1009.0}, {1000.0}, {0.0, 0.01}).passes());
  EXPECT_FALSE(Compared({1011.0}, {1000.0}, {0.0, 0.01}).passes());
  EXPECT_FALSE(Compared({0.01}, {0.0}, {0.0, 0.01}).passes());
}

TEST(CompareTensorTest, TheWorstElementIsFound) {
  const TensorErrors errors = Compared({1.0, 2.5, 9.0, 2.5}, {1.0, 2.0, 3.0, 2.0});
  EXPECT_FALSE(errors.passes());
  EXPECT_EQ(errors.worst, 2);
  EXPECT_EQ(errors.max_abs_error, 6.0);
}

TEST(CompareTensorTest, WithoutAToleranceOnlyEqualIsRight) {
  EXPECT_TRUE(Compared({1.0, 0.0}, {1.0, -0.0}, {}).passes());
  const TensorErrors errors = Compared({1.0, 1.0}, {1.0, 1.0 + 1e-6}, {});
  EXPECT_EQ(errors.worst, 1);
  EXPECT_EQ(errors.max_error_ratio, kLargestRatio) << "a recording holds finite numbers";
}

TEST(CompareTensorTest, WhatNothingWroteIsCountedAndPlaced) {
  for (const NumberFormat format : kNumberFormats) {
    std::vector<std::byte> bytes = Memory(format, {1.0, 1.0, 1.0, 1.0});
    StoreBits(format, bytes, 1, PoisonOf(format));
    StoreBits(format, bytes, 3, PoisonOf(format));
    const TensorErrors errors = CompareTensor(format, bytes, std::vector<double>(4, 1.0), {0.1, 0.1}, true);
    EXPECT_EQ(errors.unwritten, 2) << NameOf(format);
    EXPECT_EQ(errors.first_unwritten, 1);
    EXPECT_EQ(errors.nonfinite, 0);
    EXPECT_FALSE(errors.passes());
  }
}

TEST(CompareTensorTest, AnIntegerThatIsRightlyThePoisonIsRight) {
  const double poison = Decode(NumberFormat::kInt8, PoisonOf(NumberFormat::kInt8));
  const std::vector<std::byte> bytes = Memory(NumberFormat::kInt8, {poison});
  EXPECT_TRUE(CompareTensor(NumberFormat::kInt8, bytes, std::vector<double>{poison}, {}, true).passes());
}

TEST(CompareTensorTest, AnInPlaceTensorWasNotPoisoned) {
  std::vector<std::byte> bytes(4);
  StoreBits(NumberFormat::kFp32, bytes, 0, PoisonOf(NumberFormat::kFp32));
  const TensorErrors errors = CompareTensor(NumberFormat::kFp32, bytes, std::vector<double>{1.0}, {}, false);
  EXPECT_EQ(errors.unwritten, 0);
  EXPECT_EQ(errors.nonfinite, 1);
}

TEST(CompareTensorTest, NansAndInfinitiesAreWrongUnlessTheReferenceHasThemToo) {
  EXPECT_EQ(Compared({kNan, kInfinity, 1.0}, {1.0, 1.0, 1.0}).nonfinite, 2);
  EXPECT_EQ(Compared({1.0, kNan, kInfinity}, {1.0, 1.0, 1.0}).first_nonfinite, 1);
  EXPECT_TRUE(Compared({kNan, kInfinity, -kInfinity}, {kNan, kInfinity, -kInfinity}).passes());
  EXPECT_FALSE(Compared({-kInfinity}, {kInfinity}).passes());
  const TensorErrors finite = Compared({0.0, 1.0}, {0.0, kNan});
  EXPECT_FALSE(finite.passes());
  EXPECT_EQ(finite.worst, 1);
  EXPECT_EQ(finite.max_abs_error, 0.0);
}

TEST(CompareTensorTest, UnwrittenElementsAreFoundWithoutAReference) {
  std::vector<std::byte> bytes = Memory(NumberFormat::kFp16, {kNan, 2.0, 3.0});
  EXPECT_TRUE(FindUnwritten(NumberFormat::kFp16, bytes).passes());
  StoreBits(NumberFormat::kFp16, bytes, 2, PoisonOf(NumberFormat::kFp16));
  EXPECT_EQ(FindUnwritten(NumberFormat::kFp16, bytes).first_unwritten, 2);
}

}  // namespace
}  // namespace fa_profile::compare_tensor_test
