// When PC sampling may end while a program goes on.
#include "fa_profile/sampling_end.h"

#include <gtest/gtest.h>

#include <thread>

namespace fa_profile::collect::sampling_end_test {
namespace {

void Ask(SamplingEnd& end, int times) {
  for (int i = 0; i < times; ++i) end.Ask();
}

TEST(SamplingEndTest, FromNotAskedToAskedToDue) {
  SamplingEnd end;
  EXPECT_FALSE(end.asked());
  EXPECT_TRUE(end.possible());
  Ask(end, 10);
  EXPECT_TRUE(end.asked());
  EXPECT_FALSE(end.due());
  Ask(end, 1);
  EXPECT_TRUE(end.due());
}

TEST(SamplingEndTest, ATryIsFollowedByTheNextWhenItIsAskedAgain) {
  SamplingEnd end;
  Ask(end, 11);
  EXPECT_EQ(end.NextWaitSeconds(), 0.2);
  EXPECT_FALSE(end.due());
  EXPECT_TRUE(end.asked());
  Ask(end, 1);
  EXPECT_TRUE(end.due());
  EXPECT_EQ(end.NextWaitSeconds(), 0.4);
}

TEST(SamplingEndTest, TheSixthTryIsTheLast) {
  SamplingEnd end;
  Ask(end, 10);
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(end.possible());
    Ask(end, 1);
    EXPECT_LE(end.NextWaitSeconds(), 1.6);
  }
  EXPECT_FALSE(end.possible());
  Ask(end, 20);
  EXPECT_FALSE(end.due());
  EXPECT_FALSE(end.asked());
}

TEST(SamplingEndTest, ASecondThreadThatLaunchesEndsIt) {
  SamplingEnd end;
  EXPECT_FALSE(end.KnowsThisThread());
  end.OnLaunch();
  end.OnLaunch();
  EXPECT_TRUE(end.KnowsThisThread());
  Ask(end, 11);
  std::thread([&] {
    EXPECT_FALSE(end.KnowsThisThread());
    end.OnLaunch();
    EXPECT_TRUE(end.KnowsThisThread());
  }).join();
  EXPECT_FALSE(end.possible());
  EXPECT_FALSE(end.due());
}

}  // namespace
}  // namespace fa_profile::collect::sampling_end_test
