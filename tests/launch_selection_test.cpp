// Which launches of a program may be measured.
#include "fa_profile/launch_selection.h"

#include <gtest/gtest.h>

#include <string>

#include "fa_profile/error.h"

namespace fa_profile::inject::launch_selection_test {
namespace {

constexpr const char* kMix = "_Z3MixPjj";
constexpr const char* kRotate = "_Z6RotatePj";

std::string PathOf(std::uint32_t range) { return range == 1 ? "step" : range == 2 ? "step / attn" : "other"; }

// Which launches of `symbol`, in no range, are taken: "..xx." for the third and fourth of five.
std::string Taken(LaunchSelection& selection, const char* symbol, int launches, std::uint32_t range = 0) {
  std::string taken;
  for (int i = 0; i < launches; ++i) {
    const bool takes = selection.Takes(symbol, range, PathOf);
    if (takes) selection.OnMeasured();
    taken += takes ? 'x' : '.';
  }
  return taken;
}

TEST(LaunchSelectionTest, WithoutOptionsThereIsNothingToAsk) {
  InjectPlan plan;
  plan.kernel_pattern = "Mix";
  LaunchSelection selection(plan);
  EXPECT_FALSE(selection.asks());
  EXPECT_FALSE(selection.over());
}

TEST(LaunchSelectionTest, SkipAndCountAreOfTheLaunchesThatTheKernelPatternFinds) {
  InjectPlan plan;
  plan.kernel_pattern = "^Mix";
  plan.launch_skip = 2;
  plan.launch_count = 3;
  LaunchSelection selection(plan);
  EXPECT_TRUE(selection.asks());
  EXPECT_EQ(Taken(selection, kRotate, 3), "...");
  EXPECT_EQ(Taken(selection, nullptr, 2), "..") << "a graph has no name for --kernel";
  EXPECT_EQ(Taken(selection, kMix, 4), "..xx");
  EXPECT_FALSE(selection.over());
  EXPECT_EQ(Taken(selection, kMix, 3), "x..");
  EXPECT_TRUE(selection.over());
}

TEST(LaunchSelectionTest, ALaunchThatWasNotMeasuredIsNotCounted) {
  InjectPlan plan;
  plan.launch_count = 1;
  LaunchSelection selection(plan);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(selection.Takes(kMix, 0, PathOf));
  selection.OnMeasured();
  EXPECT_FALSE(selection.Takes(kMix, 0, PathOf));
}

TEST(LaunchSelectionTest, RangesAreFoundByTheirPath) {
  InjectPlan plan;
  plan.nvtx_pattern = "step / attn";
  LaunchSelection selection(plan);
  EXPECT_EQ(Taken(selection, kMix, 2), "..") << "in no range";
  EXPECT_EQ(Taken(selection, kMix, 2, 1), "..");
  EXPECT_EQ(Taken(selection, kMix, 2, 2), "xx");
  EXPECT_EQ(Taken(selection, nullptr, 1, 2), "x") << "a graph that is launched inside";
  EXPECT_EQ(Taken(selection, kMix, 1, 3), ".");
}

TEST(LaunchSelectionTest, GraphsCountWithoutAKernelPattern) {
  InjectPlan plan;
  plan.launch_skip = 1;
  LaunchSelection selection(plan);
  EXPECT_EQ(Taken(selection, nullptr, 2), ".x");
}

TEST(LaunchSelectionTest, APatternMustBeARegularExpression) {
  InjectPlan plan;
  plan.nvtx_pattern = "(";
  EXPECT_THROW(LaunchSelection{plan}, Error);
}

}  // namespace
}  // namespace fa_profile::inject::launch_selection_test
