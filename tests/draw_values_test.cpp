#include "draw_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

namespace fa_profile::draw_values_test {
namespace {

std::vector<double> Drawn(const Draw& draw, std::size_t count, std::uint64_t seed = 1, std::uint32_t tensor = 0) {
  std::vector<double> values(count);
  DrawValues(draw, seed, tensor, values);
  return values;
}

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double Deviation(const std::vector<double>& values) {
  const double mean = Mean(values);
  double sum = 0.0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

constexpr std::size_t kMany = 200'000;

TEST(DrawValuesTest, ANormalDrawHasItsMeanAndDeviation) {
  const std::vector<double> values = Drawn({FA_PROFILE_NORMAL, 3.0, 0.5, nullptr}, kMany);
  EXPECT_NEAR(Mean(values), 3.0, 0.01);
  EXPECT_NEAR(Deviation(values), 0.5, 0.01);
  EXPECT_TRUE(std::ranges::all_of(values, [](double value) { return std::isfinite(value); }));
}

TEST(DrawValuesTest, AUniformDrawFillsItsRange) {
  const std::vector<double> values = Drawn({FA_PROFILE_UNIFORM, -2.0, 1.0, nullptr}, kMany);
  EXPECT_GE(std::ranges::min(values), -2.0);
  EXPECT_LT(std::ranges::max(values), 1.0);
  EXPECT_NEAR(Mean(values), -0.5, 0.01);
  EXPECT_NEAR(std::ranges::min(values), -2.0, 0.001);
  EXPECT_NEAR(std::ranges::max(values), 1.0, 0.001);
}

TEST(DrawValuesTest, IntegersTakeEveryValueOfTheirRangeAlikeOften) {
  const std::vector<double> values = Drawn({FA_PROFILE_INTEGERS, -1.0, 2.0, nullptr}, kMany);
  EXPECT_EQ(std::set<double>(values.begin(), values.end()), (std::set<double>{-1, 0, 1, 2}));
  for (const double each : {-1.0, 0.0, 1.0, 2.0}) {
    EXPECT_NEAR(static_cast<double>(std::ranges::count(values, each)), kMany / 4.0, kMany / 100.0);
  }
}

TEST(DrawValuesTest, AConstantIsOne) {
  EXPECT_EQ(Drawn({FA_PROFILE_CONSTANT, 0.25, 9.0, nullptr}, 3), (std::vector<double>{0.25, 0.25, 0.25}));
}

TEST(DrawValuesTest, AnElementDependsOnSeedTensorAndIndexAlone) {
  const Draw draw{FA_PROFILE_UNIFORM, 0.0, 1.0, nullptr};
  const std::vector<double> values = Drawn(draw, 1000);
  EXPECT_EQ(Drawn(draw, 1000), values);
  const std::vector<double> fewer = Drawn(draw, 10);
  EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), values.begin()));
  EXPECT_NE(Drawn(draw, 1000, 2), values);
  EXPECT_NE(Drawn(draw, 1000, 1, 1), values);
  EXPECT_NE(Drawn(draw, 1000, 0, 1), Drawn(draw, 1000, 1, 0));
}

}  // namespace
}  // namespace fa_profile::draw_values_test
