#include "fa_profile/change_points.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "fa_profile/analyze_history.h"
#include "fa_profile/error.h"

/// Change points and drifts in series whose truth is known, with the noise that was measured.
namespace fa_profile::gate::change_points_test {
namespace {

/// About a standard normal deviate: the same on every platform.
double Normal(std::mt19937& random) {
  double sum = -6.0;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(random()) / 4294967296.0;
  return sum;
}

std::vector<double> Noise(std::size_t n, std::uint32_t seed, double deviation = 0.01) {
  std::mt19937 random(seed);
  std::vector<double> values(n);
  for (double& value : values) value = deviation * Normal(random);
  return values;
}

std::vector<double> Step(std::size_t n, std::size_t at, double size, std::uint32_t seed = 1, double deviation = 0.01) {
  std::vector<double> values = Noise(n, seed, deviation);
  for (std::size_t i = at; i < n; ++i) values[i] += size;
  return values;
}

/// The statistic as the paper defines it, in O(n^3).
Split Slow(const std::vector<double>& x) {
  const std::size_t n = x.size();
  Split best;
  for (std::size_t at = kLeastSegment; at + kLeastSegment <= n; ++at) {
    double between = 0.0, before = 0.0, after = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i + 1; j < n; ++j) {
        (j < at ? before : i >= at ? after : between) += std::abs(x[i] - x[j]);
      }
    }
    const auto m = static_cast<double>(at);
    const auto k = static_cast<double>(n - at);
    const double energy = 2.0 * between / (m * k) - 2.0 * before / (m * (m - 1.0)) - 2.0 * after / (k * (k - 1.0));
    if (best.at == 0 || energy * m * k / (m + k) > best.statistic) best = {at, energy * m * k / (m + k), 1.0};
  }
  return best;
}

TEST(ChangePointsTest, RunningSumsGiveTheStatisticOfThePaper) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    std::vector<double> values = Step(6 + seed, (6 + seed) / 2, 0.01 * (seed % 4), seed);
    if (seed % 3 == 0) {
      for (double& value : values) value = std::round(value * 100.0);  // ties
    }
    const Split slow = Slow(values);
    const Split fast = FindSplit(values, 0, 1).value();
    EXPECT_NEAR(fast.statistic, slow.statistic, 1e-9 * (1.0 + std::abs(slow.statistic))) << seed;
    if (seed % 3 != 0) {
      EXPECT_EQ(fast.at, slow.at) << seed;
    }
  }
}

TEST(ChangePointsTest, ShortSeriesHaveTheExactP) {
  EXPECT_FALSE(FindSplit(std::vector<double>{1, 2, 3, 4, 5}, 999, 1));
  // Two of the 20 ways to choose the first three of six separate them.
  EXPECT_DOUBLE_EQ(FindSplit(std::vector<double>{1, 1.1, 1.2, 9, 9.1, 9.2}, 999, 1)->p, 0.1);
  // There are 70 ways to choose four of eight.
  const Split eight = FindSplit(std::vector<double>{1, 1.1, 1.2, 1.3, 9, 9.1, 9.2, 9.3}, 999, 1).value();
  EXPECT_EQ(eight.at, 4u);
  EXPECT_DOUBLE_EQ(eight.p, 2.0 / 70.0);
  EXPECT_DOUBLE_EQ(FindSplit(std::vector<double>(20, 3.0), 999, 1)->p, 1.0);
}

TEST(ChangePointsTest, AStepIsFoundAtItsPlaceAndTheDrawsAreRepeatable) {
  const std::vector<double> values = Step(60, 41, 0.03);
  const Split split = FindSplit(values, 999, 7).value();
  EXPECT_EQ(split.at, 41u);
  EXPECT_DOUBLE_EQ(split.p, 0.001);
  const std::vector<double> flat = Noise(60, 3);
  EXPECT_EQ(FindSplit(flat, 999, 7)->p, FindSplit(flat, 999, 7)->p);
  EXPECT_GT(FindSplit(flat, 999, 7)->p, 0.01);
}

TEST(ChangePointsTest, ALongSeriesIsCheapAndExtremeValuesAreFinite) {
  EXPECT_EQ(FindSplit(Step(2000, 700, 0.02), 99, 1)->at, 700u);
  std::vector<double> huge = Noise(30, 1);
  huge[7] = 1e300;
  EXPECT_GT(FindSplit(huge, 99, 1)->p, 0.05);  // one odd night does not count as a change
  huge[7] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW((void)FindSplit(huge, 99, 1), Error);
  EXPECT_THROW((void)FindTrend(huge), Error);
}

TEST(ChangePointsTest, ATrendHasTheExactPOfKendallsTable) {
  EXPECT_FALSE(FindTrend(std::vector<double>{1, 2, 3}));
  EXPECT_NEAR(FindTrend(std::vector<double>{1, 2, 3, 4, 5})->p, 2.0 / 120.0, 1e-12);
  EXPECT_NEAR(FindTrend(std::vector<double>{2, 1, 3, 4, 5})->p, 2.0 * 5.0 / 120.0, 1e-12);
  EXPECT_NEAR(FindTrend(std::vector<double>{1, 3, 5, 7, 9, 11})->slope, 2.0, 1e-12);
  EXPECT_DOUBLE_EQ(FindTrend(std::vector<double>(9, 4.0))->p, 1.0);
  const std::vector<double> noise = Noise(400, 5);
  EXPECT_GT(FindTrend(noise)->p, 0.01);
  std::vector<double> rising = noise;
  for (std::size_t i = 0; i < rising.size(); ++i) rising[i] += 1e-4 * static_cast<double>(i);
  const Trend trend = FindTrend(rising).value();
  EXPECT_LT(trend.p, 1e-6);
  EXPECT_LT(trend.slope_low, 1e-4);
  EXPECT_GT(trend.slope_high, 1e-4);
}

TEST(ChangePointsTest, AShiftHasTheMedianDifferenceAndItsInterval) {
  const Shift shift = FindShift(Noise(40, 1), Step(40, 0, 0.03, 2));
  EXPECT_NEAR(shift.size, 0.03, 0.005);
  EXPECT_LT(*shift.low, 0.03);
  EXPECT_GT(*shift.high, 0.03);
  EXPECT_LT(*shift.high - *shift.low, 0.012);
  EXPECT_FALSE(FindShift(std::vector<double>{1, 2, 3}, std::vector<double>{4, 5, 6}).low);
}

TEST(ChangePointsTest, BenjaminiAndHochbergStepUp) {
  EXPECT_FALSE(RejectUpTo({}, 0.05));
  EXPECT_FALSE(RejectUpTo({0.04, 0.5}, 0.05));
  EXPECT_EQ(RejectUpTo({0.9, 0.011, 0.02, 0.03}, 0.05), 0.03);  // 0.011 <= 1/4, 0.03 <= 3/4 of 5 %
  EXPECT_EQ(RejectUpTo({0.05}, 0.05), 0.05);
}

template <typename Member, typename Value>
HistoryOptions With(Member HistoryOptions::*member, const Value& value) {
  HistoryOptions options;
  options.*member = value;
  return options;
}

/// A history of one card: a duration series for each list of logarithms.
History HistoryOf(const std::vector<std::vector<double>>& logs) {
  History history;
  for (std::size_t i = 0; i < logs.front().size(); ++i) {
    Night night;
    night.gpu_uuid = "GPU-1";
    night.taken_at = "2026-01-01T00:00:00Z";
    night.commit = "commit" + std::to_string(i);
    history.nights.push_back(night);
  }
  for (std::size_t s = 0; s < logs.size(); ++s) {
    HistorySeries series{"GPU-1", "kernel" + std::to_string(s), "1,8,512,64", {"", kDuration}, {}};
    for (std::size_t i = 0; i < logs[s].size(); ++i) series.points.push_back({i, 1e-5 * std::exp(logs[s][i]), 0.0, 20});
    history.series.push_back(series);
  }
  return history;
}

TEST(AnalyzeHistoryTest, AStepIsAChangePointAndNoDrift) {
  const HistoryReport report = AnalyzeHistory(HistoryOf({Step(60, 30, 0.03, 1, 0.005), Noise(60, 9)}), {});
  ASSERT_EQ(report.changes.size(), 1u);
  EXPECT_EQ(report.changes[0].at, 30u);
  EXPECT_NEAR(report.changes[0].change, 0.03, 0.004);
  EXPECT_LT(*report.changes[0].low, 0.0305);
  EXPECT_TRUE(report.drifts.empty());
  EXPECT_EQ(report.tested, 2u);
}

TEST(AnalyzeHistoryTest, SixStepsInsideTheToleranceAreASlowDrift) {
  std::vector<double> stairs = Noise(42, 4, 0.007);
  for (std::size_t i = 0; i < stairs.size(); ++i) stairs[i] += 0.019 * static_cast<double>(i / 6);
  const HistoryReport report = AnalyzeHistory(HistoryOf({stairs}), {});
  ASSERT_EQ(report.drifts.size(), 1u);
  EXPECT_NEAR(report.drifts[0].change, std::exp(0.019 * 6.0) - 1.0, 0.03);
  EXPECT_LT(report.drifts[0].p, 1e-6);
  // Even while the test of cuts cannot decide anything: seven nights, one a step.
  std::vector<double> few = Noise(7, 4, 0.004);
  for (std::size_t i = 0; i < few.size(); ++i) few[i] += 0.019 * static_cast<double>(i);
  const HistoryReport early = AnalyzeHistory(HistoryOf({few}), {});
  EXPECT_TRUE(early.changes.empty());
  ASSERT_EQ(early.drifts.size(), 1u);
  EXPECT_FALSE(early.drifts[0].largest_change);
}

TEST(AnalyzeHistoryTest, ACounterChangesWithoutATest) {
  History history = HistoryOf({Noise(8, 1)});
  history.series[0].key = {"", "instructions"};
  for (HistoryPoint& point : history.series[0].points) point.median = point.night < 5 ? 1000.0 : 1010.0;
  HistoryReport report = AnalyzeHistory(history, {});
  ASSERT_EQ(report.changes.size(), 1u);
  EXPECT_EQ(report.changes[0].at, 5u);
  EXPECT_NEAR(report.changes[0].change, 0.01, 1e-12);
  EXPECT_FALSE(report.changes[0].p);
  for (HistoryPoint& point : history.series[0].points) point.spread = 4.0;  // it varies
  EXPECT_TRUE(AnalyzeHistory(history, {}).changes.empty());
}

TEST(AnalyzeHistoryTest, TheSameHistoryGivesTheSameReport) {
  std::vector<std::vector<double>> many;
  for (std::uint32_t i = 0; i < 12; ++i) many.push_back(Step(50, 20, i == 3 ? 0.02 : 0.0, i + 1));
  const HistoryReport first = AnalyzeHistory(HistoryOf(many), {});
  const HistoryReport again = AnalyzeHistory(HistoryOf(many), {});
  ASSERT_EQ(first.changes.size(), again.changes.size());
  for (std::size_t i = 0; i < first.changes.size(); ++i) EXPECT_EQ(first.changes[i].p, again.changes[i].p);
}

TEST(AnalyzeHistoryTest, CorrelatedNightsAreNoticed) {
  std::mt19937 random(3);
  std::vector<std::vector<double>> logs(9, std::vector<double>(60));
  for (std::vector<double>& series : logs) {
    double last = 0.0;
    for (double& value : series) value = last = 0.5 * last + 0.006 * Normal(random);
  }
  const HistoryReport report = AnalyzeHistory(HistoryOf(logs), {});
  EXPECT_NEAR(report.correlation.value(), 0.5, 0.15);
  std::vector<std::vector<double>> independent;
  for (std::uint32_t seed = 1; seed <= 25; ++seed) independent.push_back(Noise(60, seed));
  EXPECT_NEAR(AnalyzeHistory(HistoryOf(independent), {}).correlation.value(), 0.0, 0.15);
  EXPECT_FALSE(AnalyzeHistory(HistoryOf({Noise(8, 1)}), {}).correlation);
}

TEST(AnalyzeHistoryTest, SelectionsThatMatchNothingAreErrors) {
  const History history = HistoryOf({Noise(8, 1)});
  EXPECT_THROW((void)AnalyzeHistory(history, With(&HistoryOptions::kernel_pattern, "nothing")), Error);
  EXPECT_THROW((void)AnalyzeHistory(history, With(&HistoryOptions::gpu_uuid, "GPU-2")), Error);
  EXPECT_THROW((void)AnalyzeHistory({}, {}), Error);
  EXPECT_EQ(AnalyzeHistory(history, With(&HistoryOptions::nights, 4)).history.series[0].points.size(), 4u);
}

/// In how many of `runs` histories, with 28 series of `nights` nights, a false finding of each kind occurred, and in
/// how many the first series' effect was found.
struct Rates {
  int false_change = 0, false_drift = 0, found_change = 0, found_drift = 0;
};
Rates Simulate(int runs, std::size_t nights, double deviation, double correlation, double step, double stair,
               double least = 0.005) {
  constexpr std::size_t kSeries = 28;
  HistoryOptions options = With(&HistoryOptions::permutations, 1999);
  options.least = least;
  Rates rates;
  for (int run = 0; run < runs; ++run) {
    std::mt19937 random(static_cast<std::uint32_t>(1000 + run));
    std::vector<std::vector<double>> logs(kSeries, std::vector<double>(nights));
    for (std::size_t s = 0; s < kSeries; ++s) {
      double last = 0.0;
      for (std::size_t i = 0; i < nights; ++i) {
        last = correlation * last + std::sqrt(1.0 - correlation * correlation) * Normal(random);
        logs[s][i] = deviation * last;
        if (s == 0 && i >= nights / 2) logs[s][i] += step;
        if (s == 0) logs[s][i] += stair * std::floor(7.0 * static_cast<double>(i) / static_cast<double>(nights));
      }
    }
    const HistoryReport report = AnalyzeHistory(HistoryOf(logs), options);
    const auto others = [](const auto& found) { return found.series != 0; };
    const bool effect = step != 0.0 || stair != 0.0;
    rates.false_change += effect ? std::ranges::any_of(report.changes, others) : !report.changes.empty();
    rates.false_drift += effect ? std::ranges::any_of(report.drifts, others) : !report.drifts.empty();
    rates.found_drift += std::ranges::any_of(report.drifts, std::not_fn(others));
    rates.found_change += std::ranges::any_of(report.changes, [&](const ChangePoint& change) {
      return change.series == 0 && std::abs(static_cast<double>(change.at) - static_cast<double>(nights / 2)) <= 2.0;
    });
  }
  return rates;
}

TEST(AnalyzeHistoryTest, RatesOfFindingsInSimulatedHistories) {
  // docs/evidence/gate.md has the table of more runs: FA_PROFILE_HISTORY_RUNS=400 prints it.
  const char* const given = std::getenv("FA_PROFILE_HISTORY_RUNS");
  const int runs = given != nullptr ? std::max(1, std::atoi(given)) : 20;
  const auto print = [&](const char* name, const Rates& rates) {
    if (given == nullptr) return;
    std::printf("| %s | %.1f %% | %.1f %% | %.1f %% | %.1f %% |\n", name, 100.0 * rates.found_change / runs,
                100.0 * rates.found_drift / runs, 100.0 * rates.false_change / runs, 100.0 * rates.false_drift / runs);
  };
  const Rates nothing = Simulate(runs, 60, 0.007, 0.0, 0.0, 0.0);
  print("nothing, 0.7 %", nothing);
  EXPECT_LE(nothing.false_change, 1 + runs / 6);
  EXPECT_LE(nothing.false_drift, 1 + runs / 6);
  const Rates step = Simulate(runs, 60, 0.007, 0.0, 0.02, 0.0);
  print("+2 % in the middle, 0.7 %", step);
  EXPECT_GE(step.found_change, runs * 9 / 10);
  const Rates stairs = Simulate(runs, 42, 0.007, 0.0, 0.0, 0.019);
  print("6 x +1.9 %, 0.7 %", stairs);
  EXPECT_EQ(stairs.found_drift, runs);
  if (given == nullptr) return;
  print("nothing, 2 %", Simulate(runs, 60, 0.02, 0.0, 0.0, 0.0));
  print("nothing, 0.7 %, r = 0.3", Simulate(runs, 60, 0.007, 0.3, 0.0, 0.0));
  print("nothing, 0.7 %, r = 0.6", Simulate(runs, 60, 0.007, 0.6, 0.0, 0.0));
  print("nothing, 0.7 %, r = 0.3, --least 0.01", Simulate(runs, 60, 0.007, 0.3, 0.0, 0.0, 0.01));
  print("+2 % in the middle, 0.7 %, r = 0.3, --least 0.01", Simulate(runs, 60, 0.007, 0.3, 0.02, 0.0, 0.01));
  print("+1 % in the middle, 0.7 %", Simulate(runs, 60, 0.007, 0.0, 0.01, 0.0));
  print("+1 % in the middle, 0.3 %", Simulate(runs, 60, 0.003, 0.0, 0.01, 0.0));
  print("+2 % in the middle, 0.7 %, 20 nights", Simulate(runs, 20, 0.007, 0.0, 0.02, 0.0));
  print("+2 % in the middle, 2 %", Simulate(runs, 60, 0.02, 0.0, 0.02, 0.0));
  print("6 x +1.9 %, 2 %", Simulate(runs, 42, 0.02, 0.0, 0.0, 0.019));
  print("6 x +1.9 %, 0.7 %, 14 nights", Simulate(runs, 14, 0.007, 0.0, 0.0, 0.019));
}

}  // namespace
}  // namespace fa_profile::gate::change_points_test
