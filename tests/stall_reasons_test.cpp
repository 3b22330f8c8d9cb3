#include "fa_profile/stall_reasons.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "fa_profile/metric_catalogue.h"

namespace fa_profile::stall_reasons_test {
namespace {

TEST(StallReasonsTest, EveryReasonIsUniqueAndHasAHelpAndAKnownGroup) {
  std::set<std::string_view> reasons;
  for (const StallReason& stall : StallReasons()) {
    EXPECT_TRUE(reasons.insert(stall.reason).second) << stall.reason;
    EXPECT_TRUE(stall.help.ends_with('.')) << stall.reason;
    EXPECT_EQ(std::ranges::count(StallGroups(), stall.group, &StallGroup::id), 1) << stall.reason;
    EXPECT_EQ(StallGroupOf(stall.reason), stall.group);
  }
}

TEST(StallReasonsTest, EveryGroupIsUniqueAndHasAReason) {
  std::set<std::string_view> groups;
  for (const StallGroup& group : StallGroups()) {
    EXPECT_TRUE(groups.insert(group.id).second) << group.id;
    EXPECT_FALSE(group.title.empty() || group.help.empty()) << group.id;
    EXPECT_GT(std::ranges::count(StallReasons(), group.id, &StallReason::group), 0) << group.id;
  }
}

TEST(StallReasonsTest, AReasonOfALaterChipIsOther) { EXPECT_EQ(StallGroupOf("a reason of a later chip"), "other"); }

TEST(StallReasonsTest, TheCatalogueHasTheReasonsWithCounters) {
  for (const StallReason& stall : StallReasons()) {
    const CatalogueMetric* const metric = FindMetric("stall_" + std::string(stall.reason) + "_ratio");
    ASSERT_EQ(metric != nullptr, stall.counters != StallCounters::kNone) << stall.reason;
    if (metric == nullptr) continue;
    EXPECT_EQ(metric->help, stall.help);
    EXPECT_EQ(metric->formula.find("TriageCompute") != std::string_view::npos,
              stall.counters == StallCounters::kNamedAndTriage)
        << stall.reason;
  }
}

}  // namespace
}  // namespace fa_profile::stall_reasons_test
