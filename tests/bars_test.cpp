#include "fa_profile/bars.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "fa_profile/text.h"

namespace fa_profile::exporters::bars_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(BarsTest, ABarIsDrawnInEighthsOfAColumn) {
  EXPECT_EQ(Bar(1.0, 4, Bars::kBlocks), "████");
  EXPECT_EQ(Bar(0.5, 4, Bars::kBlocks), "██  ");
  EXPECT_EQ(Bar(0.53125, 4, Bars::kBlocks), "██▏ ");
  EXPECT_EQ(Bar(0.21875, 4, Bars::kBlocks), "▉   ");
  EXPECT_EQ(Bar(0.5, 4, Bars::kAscii), "##  ");
  EXPECT_EQ(Bar(0.5, 4, Bars::kNone), "");
}

TEST(BarsTest, ABarOfSomethingIsVisibleAndOneOfNothingIsBlank) {
  EXPECT_EQ(Bar(1e-9, 4, Bars::kBlocks), "▏   ");
  EXPECT_EQ(Bar(1e-9, 4, Bars::kAscii), "#   ");
  for (const double nothing : {0.0, -1.0, kNan, -kInfinity}) EXPECT_EQ(Bar(nothing, 4, Bars::kBlocks), "    ");
}

TEST(BarsTest, ABarNeverLeavesItsColumns) {
  for (const double ratio : {0.1, 0.99, 0.999, 1.0, 1.5, 1e300, kInfinity}) {
    for (const Bars bars : {Bars::kAscii, Bars::kBlocks}) {
      EXPECT_EQ(DisplayWidth(Bar(ratio, 7, bars)), 7U) << ratio;
      EXPECT_EQ(Bar(ratio, 0, bars), "") << ratio;
    }
  }
}

TEST(BarsTest, ASparklineHasAColumnForEachValue) {
  EXPECT_EQ(Sparkline(std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8}, 0, 8, Bars::kBlocks), "▁▂▃▄▅▅▆▇█");
  EXPECT_EQ(Sparkline(std::vector<double>{0, 2, 4, 6, 8}, 0, 8, Bars::kAscii), "_.-=#");
  EXPECT_EQ(Sparkline(std::vector<double>{-5, 50, kNan}, 0, 8, Bars::kBlocks), "▁█ ");
  EXPECT_EQ(Sparkline(std::vector<double>{3, 3}, 3, 3, Bars::kBlocks), "▁▁");
  EXPECT_EQ(Sparkline({}, 0, 1, Bars::kBlocks), "");
  EXPECT_EQ(Sparkline(std::vector<double>{1}, 0, 1, Bars::kNone), "");
}

}  // namespace
}  // namespace fa_profile::exporters::bars_test
