// How a program's PC samples are added up and given to its kernels, on samples made by hand.
#include "fa_profile/sample_totals.h"

#include <gtest/gtest.h>

namespace fa_profile::collect::sample_totals_test {
namespace {

ProgramTotals::LaunchClass Class(const std::string& name, std::int64_t total_ns) {
  ProgramTotals::LaunchClass result;
  result.launch.kernel_name = name;
  result.total_ns = total_ns;
  return result;
}

SampledPc Pc(const std::string& function, std::uint32_t offset, std::uint64_t samples, std::uint64_t crc = 1) {
  return {crc, function, offset, {{"wait", samples}, {"wait_not_issued", samples / 2}}};
}

TEST(SampleTotalsTest, SamplesOfOneInstructionAddUpAndTwinsCountOnce) {
  SampleTotals totals;
  totals.Add({{Pc("a", 0, 10), Pc("a", 16, 4)}, 14, 1, 2, false});
  totals.Add({{Pc("a", 0, 6)}, 6, 2, 0, true});
  EXPECT_EQ(totals.named(), 20U);
  EXPECT_EQ(totals.dropped(), 3U);
  EXPECT_EQ(totals.other(), 2U);
  EXPECT_TRUE(totals.buffer_full());
  const auto kernels = totals.Kernels({Class("a", 100)}, 0.0);
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].samples, 20U);
  ASSERT_EQ(kernels[0].functions.size(), 1U);
  EXPECT_EQ(totals.ByReason(kernels[0].functions[0]->pcs.at(0)),
            (std::map<std::string, std::uint64_t>{{"wait", 16}, {"wait_not_issued", 8}}));
}

TEST(SampleTotalsTest, AKernelBelongsToItsHeaviestLaunchClass) {
  SampleTotals totals;
  totals.Add({{Pc("a", 0, 60), Pc("b", 0, 39), Pc("c", 0, 1)}, 100, 0, 0, false});
  const auto kernels = totals.Kernels({Class("b", 10), Class("a", 25), Class("a", 75), Class("c", 1)}, 0.05);
  ASSERT_EQ(kernels.size(), 2U) << "c has fewer samples than was asked for";
  EXPECT_EQ(kernels[0].launch_class, 2U);
  EXPECT_EQ(kernels[0].classes, 2);
  EXPECT_DOUBLE_EQ(kernels[0].others_ratio, 0.25);
  EXPECT_EQ(kernels[1].launch_class, 0U);
  EXPECT_DOUBLE_EQ(kernels[1].others_ratio, 0.0);
}

TEST(SampleTotalsTest, AKernelThatTwoCubinsHoldIsOne) {
  SampleTotals totals;
  totals.Add({{Pc("a", 0, 3, 1), Pc("a", 0, 4, 2)}, 7, 0, 0, false});
  const auto kernels = totals.Kernels({Class("a", 1)}, 0.0);
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].functions.size(), 2U);
  EXPECT_EQ(kernels[0].samples, 7U);
}

TEST(SampleTotalsTest, ACalledFunctionBelongsToTheOnlyKernelOfItsCubin) {
  SampleTotals totals;
  totals.Add({{Pc("a", 0, 10, 1), Pc("helper", 0, 5, 1), Pc("b", 0, 10, 2), Pc("c", 0, 10, 2), Pc("shared", 0, 5, 2)},
              40,
              0,
              0,
              false});
  const auto kernels = totals.Kernels({Class("a", 1), Class("b", 1), Class("c", 1)}, 0.0);
  ASSERT_EQ(kernels.size(), 3U);
  EXPECT_EQ(kernels[0].samples, 15U);
  EXPECT_EQ(kernels[0].functions.size(), 2U);
  EXPECT_EQ(kernels[1].samples, 10U) << "b or c may have called it";
}

TEST(SampleTotalsTest, InstructionsBeyondTheLimitAreCounted) {
  SampleTotals totals;
  PcSamples samples;
  for (std::uint32_t i = 0; i <= SampleTotals::kMostInstructions; ++i) {
    samples.pcs.push_back({1, "a", 16 * i, {{"wait", 2}}});
  }
  totals.Add(samples);
  EXPECT_EQ(totals.beyond_instructions(), 2U);
  EXPECT_EQ(totals.named(), 2 * SampleTotals::kMostInstructions);
  totals.Add({{Pc("a", 0, 4)}, 4, 0, 0, false});
  EXPECT_EQ(totals.named(), 2 * SampleTotals::kMostInstructions + 4) << "a known instruction still counts";
}

}  // namespace
}  // namespace fa_profile::collect::sample_totals_test
