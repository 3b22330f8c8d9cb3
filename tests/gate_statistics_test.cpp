#include "fa_profile/gate_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>

#include "fa_profile/error.h"

// Expected values: counted over all choices of signs by another program, scipy 1.17, or the source named next to them.

namespace fa_profile::gate::gate_statistics_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const std::vector<double> kEight{0.021, -0.004, 0.013, 0.007, -0.002, 0.011, 0.019, 0.003};
const std::vector<double> kFourteen{0.012, 0.034,  -0.021, 0.008, 0.017,  -0.005, 0.029,
                                    0.002, -0.011, 0.023,  0.015, -0.009, 0.006,  0.019};
// Darwin's maize, as Fisher tests it: differences in eighths of an inch.
const std::vector<double> kDarwin{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48};

/// Blocks of two whose differences are these.
std::vector<ProcessBlock> Pairs(const std::vector<double>& differences) {
  std::vector<ProcessBlock> blocks;
  for (const double difference : differences) blocks.push_back({difference, 0.0, {}});
  return blocks;
}

double SignFlipP(const std::vector<double>& differences) { return PermutationP(Pairs(differences)); }

std::pair<double, double> SignFlipInterval(const std::vector<double>& differences, double confidence = 0.95) {
  return PermutationInterval(Pairs(differences), confidence);
}

std::vector<double> Negated(std::vector<double> values) {
  for (double& value : values) value = -value;
  return values;
}

std::vector<double> Shifted(std::vector<double> values, double by) {
  for (double& value : values) value += by;
  return values;
}

TEST(GateStatisticsTest, MedianIsTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(Median({3.0}), 3.0);
  EXPECT_EQ(Median({9.0, 1.0, 2.0}), 2.0);
  EXPECT_EQ(Median({8.0, 1.0, 4.0, 2.0}), 3.0);
  EXPECT_EQ(Median({1.0, 1.0, 1.0, 7.0}), 1.0);
  EXPECT_THROW((void)Median({}), Error);
}

TEST(GateStatisticsTest, SignFlipCountsAllChoicesOfSigns) {
  EXPECT_DOUBLE_EQ(SignFlipP(kEight), 6.0 / 256.0);
  EXPECT_DOUBLE_EQ(SignFlipP(kFourteen), 586.0 / 16384.0);
  EXPECT_DOUBLE_EQ(SignFlipP(std::vector<double>{1, 1, -1, 2, -2, 3}), 17.0 / 64.0);
  EXPECT_DOUBLE_EQ(SignFlipP(std::vector<double>{0, 0, 1, -1, 2}), 12.0 / 32.0);
}

TEST(GateStatisticsTest, SignFlipReproducesFishersPublishedResult) {
  // The Design of Experiments, 21: 863 of 32,768 sums are as great; both sides together 5.267 %.
  EXPECT_DOUBLE_EQ(SignFlipP(kDarwin), 863.0 / 32768.0);
}

TEST(GateStatisticsTest, SignFlipIsOneSided) {
  EXPECT_EQ(SignFlipP(std::vector<double>(8, 0.01)), 1.0 / 256.0);
  EXPECT_EQ(SignFlipP(std::vector<double>(8, -0.01)), 1.0);
  EXPECT_LT(SignFlipP(kEight), 0.05);
  EXPECT_GT(SignFlipP(Negated(kEight)), 0.95);
}

TEST(GateStatisticsTest, SignFlipOfOneDifferenceIsNotSignificant) {
  EXPECT_EQ(SignFlipP(std::vector<double>{0.5}), 0.5);
  EXPECT_EQ(SignFlipP(std::vector<double>{-0.5}), 1.0);
  EXPECT_EQ(SignFlipP(std::vector<double>{0.0}), 1.0);
}

TEST(GateStatisticsTest, SignFlipCountsEqualSumsInAnyOrderOfAddition) {
  // 0.1 + 0.2 - 0.3 is not 0 in binary: without a tolerance the sums that are equal on paper would not be.
  EXPECT_DOUBLE_EQ(SignFlipP(std::vector<double>{0.1, 0.2, 0.3}), SignFlipP(std::vector<double>{1, 2, 3}));
  EXPECT_DOUBLE_EQ(SignFlipP(std::vector<double>{0.1, 0.2, -0.3}), SignFlipP(std::vector<double>{1, 2, -3}));
  EXPECT_DOUBLE_EQ(SignFlipP(std::vector<double>{-0.3, 0.2, 0.1}), SignFlipP(std::vector<double>{-3, 2, 1}));
}

TEST(GateStatisticsTest, SignFlipAgreesWithBruteForceOnRandomDifferences) {
  std::mt19937 random(7);  // NOLINT(bugprone-random-generator-seed): the same cases each time
  std::normal_distribution<double> normal(0.3, 1.0);
  for (std::size_t n = 1; n <= 12; ++n) {
    std::vector<double> values(n);
    for (double& value : values) value = normal(random);
    const double observed = std::accumulate(values.begin(), values.end(), 0.0);
    int reached = 0;
    for (unsigned flips = 0; flips < 1U << n; ++flips) {
      double sum = 0.0;
      for (std::size_t i = 0; i < n; ++i) sum += (flips >> i & 1U) != 0 ? -values[i] : values[i];
      reached += sum >= observed - 1e-9 ? 1 : 0;
    }
    EXPECT_DOUBLE_EQ(SignFlipP(values), std::ldexp(reached, -static_cast<int>(n))) << n;
  }
}

TEST(GateStatisticsTest, SignFlipIsExactUpToTwentyFourPairs) {
  EXPECT_EQ(SignFlipP(std::vector<double>(22, 0.01)), std::ldexp(1.0, -22));
  EXPECT_EQ(SignFlipP(std::vector<double>(24, 0.01)), std::ldexp(1.0, -24));
  // n equal differences, one of them negative: the observed sum and n that flip one other, and the all-positive one.
  std::vector<double> one_down(22, 0.01);
  one_down[5] = -0.01;
  EXPECT_EQ(SignFlipP(one_down), std::ldexp(23.0, -22));
}

TEST(GateStatisticsTest, SignFlipRefusesInvalidInput) {
  EXPECT_THROW((void)SignFlipP({}), Error);
  EXPECT_THROW((void)SignFlipP(std::vector<double>(25, 1.0)), Error);
  EXPECT_THROW((void)SignFlipP(std::vector<double>{1.0, std::nan("")}), Error);
  EXPECT_THROW((void)SignFlipP(std::vector<double>{1.0, kInfinity}), Error);
  EXPECT_THROW((void)SignFlipInterval({}), Error);
  EXPECT_THROW((void)SignFlipInterval(std::vector<double>{1.0, std::nan("")}), Error);
}

TEST(GateStatisticsTest, IntervalContainsTheShiftsThatAreNotRejected) {
  // From the sorted means of all subsets.
  const auto [low, high] = SignFlipInterval(kEight);
  EXPECT_NEAR(low, 0.001 / 3.0, 1e-6);
  EXPECT_NEAR(high, 0.017, 1e-6);
  const auto [low90, high90] = SignFlipInterval(kEight, 0.90);
  EXPECT_NEAR(low90, 0.002, 1e-6);
  EXPECT_NEAR(high90, 0.015, 1e-6);
  const auto [low14, high14] = SignFlipInterval(kFourteen);
  EXPECT_NEAR(low14, -0.0008, 1e-6);
  EXPECT_NEAR(high14, 0.01775, 1e-6);
}

TEST(GateStatisticsTest, IntervalEndsWhereTheTestBeginsToReject) {
  const auto [low, high] = SignFlipInterval(kFourteen);
  EXPECT_GT(SignFlipP(Shifted(kFourteen, -(low + 1e-6))), 0.025);
  EXPECT_LE(SignFlipP(Shifted(kFourteen, -(low - 1e-6))), 0.025);
  EXPECT_GT(SignFlipP(Negated(Shifted(kFourteen, -(high - 1e-6)))), 0.025);
  EXPECT_LE(SignFlipP(Negated(Shifted(kFourteen, -(high + 1e-6)))), 0.025);
}

TEST(GateStatisticsTest, IntervalExcludesShiftsRejectedExactlyAtTheLevel) {
  // 12.5 % a side is 2 of 16: the least mean is rejected, the second least is not.
  const auto [low, high] = SignFlipInterval(std::vector<double>{1, 2, 3, 4}, 0.75);
  EXPECT_NEAR(low, 1.5, 1e-4);
  EXPECT_NEAR(high, 3.5, 1e-4);
  // 6.25 % is 1 of 16: the least mean is the end.
  EXPECT_EQ(SignFlipInterval(std::vector<double>{1, 2, 3, 4}, 0.875), std::pair(1.0, 4.0));
}

TEST(GateStatisticsTest, IntervalOfTooFewPairsIsUnbounded) {
  // Five pairs reach 1/32 a side at best: not 2.5 %; six reach 1/64.
  EXPECT_EQ(SignFlipInterval(std::vector<double>{1, 2, 3, 4, 5}), std::pair(-kInfinity, kInfinity));
  EXPECT_EQ(SignFlipInterval(std::vector<double>{1, 2, 3, 4, 5, 6}), std::pair(1.0, 6.0));
  EXPECT_EQ(SignFlipInterval(std::vector<double>{7}), std::pair(-kInfinity, kInfinity));
  EXPECT_EQ(SignFlipInterval(std::vector<double>{7}, 0.0), std::pair(7.0, 7.0));
}

TEST(GateStatisticsTest, IntervalOfEqualDifferencesIsThatPoint) {
  EXPECT_EQ(SignFlipInterval(std::vector<double>(8, 0.25)), std::pair(0.25, 0.25));
  EXPECT_EQ(SignFlipInterval(std::vector<double>(14, 0.0)), std::pair(0.0, 0.0));
}

/// Blocks of three about `excess` of the candidate, from a fixed stream of random numbers.
std::vector<ProcessBlock> Threes(std::size_t count, double excess, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<ProcessBlock> blocks(count);
  for (ProcessBlock& block : blocks) block = {normal(random) + excess, normal(random), normal(random)};
  return blocks;
}

TEST(GateStatisticsTest, BlocksOfThreeCountAllAssignments) {
  for (std::size_t n = 1; n <= 8; ++n) {
    const std::vector<ProcessBlock> drawn = Threes(n, 0.8, static_cast<unsigned>(n));
    const std::vector<ProcessBlock> blocks = Winsorized(drawn, 0.0);
    double observed = 0.0;
    for (const ProcessBlock& block : blocks) observed += WorseBy(block);
    const auto assignments = static_cast<std::size_t>(std::lround(std::pow(3.0, static_cast<double>(n))));
    std::size_t reached = 0;
    for (std::size_t code = 0; code < assignments; ++code) {
      double sum = 0.0;
      std::size_t rest = code;
      for (const ProcessBlock& block : blocks) {
        const double values[3] = {block.candidate, block.base, *block.again};
        const double chosen = values[rest % 3];
        sum += chosen - (values[0] + values[1] + values[2] - chosen) / 2.0;
        rest /= 3;
      }
      reached += sum >= observed - 1e-9 ? 1 : 0;
    }
    EXPECT_DOUBLE_EQ(PermutationP(drawn), static_cast<double>(reached) / static_cast<double>(assignments)) << n;
  }
}

TEST(GateStatisticsTest, BlocksOfTwoAndThreeMix) {
  const std::vector<ProcessBlock> blocks{{1.0, 0.0, {}}, {1.0, 0.0, 0.0}};
  EXPECT_DOUBLE_EQ(LeastP(blocks), 1.0 / 6);
  EXPECT_DOUBLE_EQ(PermutationP(blocks), 1.0 / 6);
  EXPECT_DOUBLE_EQ(WorseBy({3.0, 1.0, 2.0}), 1.5);
}

TEST(GateStatisticsTest, OneDisturbedProcessDoesNotHideASlowDownOfAll) {
  std::vector<ProcessBlock> blocks = Threes(8, 6.0, 7);
  EXPECT_LE(PermutationP(blocks), 0.001);
  blocks[3].base += 200.0;
  EXPECT_LE(PermutationP(blocks), 0.1) << "the sum of the differences is far below 0";
  const std::vector<ProcessBlock> moved = Winsorized(blocks, 0.0);
  EXPECT_LT(moved[3].base, 100.0);
  EXPECT_DOUBLE_EQ(moved[2].candidate, blocks[2].candidate);
  EXPECT_DOUBLE_EQ(Winsorized(blocks, 1.5)[2].candidate, blocks[2].candidate - 1.5);
}

TEST(GateStatisticsTest, ASecondMeasurementOfTheBaseGivesPower) {
  int three = 0;
  int two = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::vector<ProcessBlock> blocks = Threes(8, 1.0, seed);
    three += PermutationP(blocks) <= 0.01 ? 1 : 0;
    for (ProcessBlock& block : blocks) block.again.reset();
    two += PermutationP(blocks) <= 0.01 ? 1 : 0;
  }
  EXPECT_GT(three, two + 20);
}

TEST(GateStatisticsTest, BlocksOfThreeAlarmAsOftenAsTheirLevel) {
  int alarms = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) alarms += PermutationP(Threes(8, 0.0, seed)) <= 0.05 ? 1 : 0;
  EXPECT_NEAR(alarms, 100, 40);  // 4 standard deviations
}

TEST(GateStatisticsTest, TheIntervalOfBlocksOfThreeEndsWhereTheTestBeginsToReject) {
  const std::vector<ProcessBlock> blocks = Threes(8, 0.5, 3);
  const auto [low, high] = PermutationInterval(blocks);
  EXPECT_LT(low, high);
  EXPECT_EQ(UpperEnd(blocks), high);
  EXPECT_GT(PermutationP(blocks, low + 1e-4), 0.025);
  EXPECT_LE(PermutationP(blocks, low - 1e-4), 0.025);
  std::vector<ProcessBlock> mirrored;
  for (const ProcessBlock& block : blocks) mirrored.push_back(Mirrored(block));
  EXPECT_GT(PermutationP(mirrored, -(high - 1e-4)), 0.025);
  EXPECT_LE(PermutationP(mirrored, -(high + 1e-4)), 0.025);
}

TEST(GateStatisticsTest, HolmStepsDown) {
  // Holm's own procedure by hand: 4 x 0.005, 3 x 0.01, 2 x 0.03, then the largest so far.
  const std::vector<double> expected{0.03, 0.06, 0.06, 0.02};
  const std::vector<double> adjusted = HolmAdjust({0.01, 0.04, 0.03, 0.005});
  ASSERT_EQ(adjusted.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(adjusted[i], expected[i]) << i;
}

TEST(GateStatisticsTest, HolmCapsAtOneAndKeepsASingleValue) {
  EXPECT_EQ(HolmAdjust({}), std::vector<double>{});
  EXPECT_EQ(HolmAdjust({0.04}), std::vector<double>{0.04});
  EXPECT_EQ(HolmAdjust({0.6, 0.7}), (std::vector<double>{1.0, 1.0}));
  EXPECT_EQ(HolmAdjust({0.02, 0.02}), (std::vector<double>{0.04, 0.04}));
}

TEST(GateStatisticsTest, ProportionBoundsAreClopperAndPearsons) {
  EXPECT_NEAR(ProportionUpperBound(0, 30), 0.09503385286, 1e-10);  // 1 - 0.05^(1/30)
  EXPECT_NEAR(ProportionUpperBound(1, 30), 0.1485960687, 1e-10);
  EXPECT_NEAR(ProportionUpperBound(5, 30), 0.3189711819, 1e-10);
  EXPECT_NEAR(ProportionUpperBound(29, 30), 0.9982916844, 1e-10);
  EXPECT_NEAR(ProportionUpperBound(1980, 2000), 0.9933631206, 1e-10);
  EXPECT_NEAR(ProportionUpperBound(0, 1200000) / 2.496440445e-06, 1.0, 1e-6);
  EXPECT_NEAR(ProportionUpperBound(7, 1000000) / 1.314807338e-05, 1.0, 1e-6);
  EXPECT_NEAR(ProportionUpperBound(1, 30, 0.99), 0.2015897804, 1e-10);
  EXPECT_NEAR(ProportionLowerBound(1, 30), 0.001708315644, 1e-10);
  EXPECT_NEAR(ProportionLowerBound(5, 30), 0.06805557358, 1e-10);
  EXPECT_NEAR(ProportionLowerBound(30, 30), 0.9049661471, 1e-10);
  EXPECT_NEAR(ProportionLowerBound(1980, 2000), 0.9855019374, 1e-10);
  EXPECT_NEAR(ProportionLowerBound(3, 20000) / 4.088578088e-05, 1.0, 1e-6);
}

TEST(GateStatisticsTest, ProportionBoundsOfNoneAndOfAll) {
  EXPECT_EQ(ProportionUpperBound(0, 0), 1.0);
  EXPECT_EQ(ProportionLowerBound(0, 0), 0.0);
  EXPECT_EQ(ProportionUpperBound(30, 30), 1.0);
  EXPECT_EQ(ProportionLowerBound(0, 30), 0.0);
  EXPECT_THROW((void)ProportionUpperBound(31, 30), Error);
  EXPECT_THROW((void)ProportionUpperBound(-1, 30), Error);
  EXPECT_THROW((void)ProportionLowerBound(31, 30), Error);
}

}  // namespace
}  // namespace fa_profile::gate::gate_statistics_test
