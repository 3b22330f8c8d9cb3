// Passes that are spread over the repetitions of launch classes, on a GPU that is faked.
#include "fa_profile/spread_session.h"

#include <gtest/gtest.h>

#include "fake_gpu.h"

namespace fa_profile::collect::spread_session_test {
namespace {

const MetricPlan kThreePasses = {"GH100", {"a.sum"}, {}, 3, {}, false};

class SpreadSessionTest : public testing::Test {
 protected:
  SpreadSessionTest() { gpu_.passes_needed = 3; }
  void Begin(std::vector<std::string> wanted, std::int64_t patience = 5) {
    session_.emplace(kThreePasses, *profiler_, std::move(wanted), patience);
    (void)gpu_.TakeCalls();
  }
  // A launch of the class, or of another one (-1); true when that ended the last pass.
  bool Launch(int index) {
    const std::optional<std::size_t> known = index < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(index));
    const bool wants = session_->Wants(known);
    if (session_->stalled() && session_->EndPass()) return true;
    if (!wants) return false;
    session_->Open(*known);
    return session_->Close();
  }
  FakeGpu gpu_;
  std::unique_ptr<RangeProfiler> profiler_ = gpu_.OpenRangeProfiler();
  std::optional<SpreadSession> session_;
};

TEST_F(SpreadSessionTest, EachRepetitionOfAClassTakesTheNextPass) {
  Begin({"a"});
  EXPECT_FALSE(Launch(0));
  EXPECT_FALSE(Launch(0));
  EXPECT_TRUE(Launch(0));
  EXPECT_TRUE(session_->done());
  EXPECT_EQ(gpu_.TakeCalls(), "start [a ] stop start [a ] stop start [a ] stop");
}

TEST_F(SpreadSessionTest, AClassIsMeasuredOnceInAPassWhateverTheOrder) {
  Begin({"a", "b"});
  for (const int index : {0, 0, 1, 1, 0}) (void)Launch(index);
  EXPECT_EQ(gpu_.TakeCalls(), "start [a ] [b ] stop start [b ] [a ] stop");
  EXPECT_FALSE(session_->done());
}

TEST_F(SpreadSessionTest, NothingStartsBeforeAWantedLaunch) {
  Begin({"a"});
  for (int k = 0; k < 100; ++k) (void)Launch(-1);
  EXPECT_EQ(gpu_.TakeCalls(), "");
}

TEST_F(SpreadSessionTest, AClassThatIsMissingEndsThePassAfterTheBoundAndIsNotAwaitedAgain) {
  Begin({"a", "b"}, 5);
  (void)Launch(0);
  for (int k = 0; k < 5; ++k) (void)Launch(-1);
  EXPECT_EQ(gpu_.TakeCalls(), "start [a ] stop");
  (void)Launch(0);
  EXPECT_EQ(gpu_.TakeCalls(), "start [a ] stop") << "b is not awaited";
  EXPECT_EQ(session_->passes_of(0), 2);
  EXPECT_EQ(session_->passes_of(1), 0);
}

TEST_F(SpreadSessionTest, AClassThatComesBackIsMeasuredAndAwaitedAgain) {
  Begin({"a", "b"}, 2);
  (void)Launch(0);
  (void)Launch(-1);
  (void)Launch(-1);
  (void)gpu_.TakeCalls();
  (void)Launch(1);
  (void)Launch(0);
  EXPECT_EQ(gpu_.TakeCalls(), "start [b ] [a ] stop");
  (void)Launch(0);
  EXPECT_EQ(gpu_.TakeCalls(), "start [a ]") << "b is awaited";
}

TEST_F(SpreadSessionTest, PassesWithoutEndAreGivenUp) {
  gpu_.passes_needed = 1000;
  Begin({"a"});
  int launches = 0;
  while (!Launch(0) && launches < 100) ++launches;
  EXPECT_EQ(session_->passes_taken(), 3 + 8);
}

TEST_F(SpreadSessionTest, AnErrorOfTheProfilerReachesTheCaller) {
  gpu_.failing_call = "start";
  Begin({"a"});
  EXPECT_THROW((void)Launch(0), Error);
}

}  // namespace
}  // namespace fa_profile::collect::spread_session_test
