// The library that is injected into a program, and a profiler inside the program, over a CUPTI that only counts its
// subscribers.
#include <gtest/gtest.h>

#include <string>

#include "fa_profile/inject_protocol.h"
#include "run_program.h"
#include "test_files.h"

namespace fa_profile::inject::step_back_test {
namespace {

constexpr char kRefused[] =
    "fa-profile: libown_profiler.so uses CUPTI itself, as torch.profiler does, but fa-profile could not leave it in "
    "time: it sees no GPU work\n";

class StepBackTest : public FolderTest {
 protected:
  Outcome Run(const std::string& mode, double delay_s = 0.0, const std::string& environment = "") const {
    InjectPlan plan;
    plan.output = (folder_ / "f.fap").string();
    plan.phases = true;
    plan.delay_s = delay_s;
    WriteFile(folder_ / kInjectPlanFile, WriteInjectPlan(plan));
    return RunInShell(folder_, "env " + environment + " " + kInjectFolder + "=" + folder_.string() +
                                   " LD_PRELOAD=" FA_PROFILE_FAKE_CUPTI " timeout 60 " FA_PROFILE_PROFILED_PROGRAM " " +
                                   mode + " " FA_PROFILE_INJECTED " " FA_PROFILE_OWN_PROFILER);
  }
};

TEST_F(StepBackTest, CuptiIsLeftToAnotherLibraryThatSubscribes) {
  for (const char* const mode : {"early", "late"}) {
    const Outcome run = Run(mode);
    EXPECT_EQ(run.exit_code, 7);
    // And nothing of ours follows, at the end of the program either.
    EXPECT_EQ(run.out,
              "subscribed: fa-profile\nregistered\nflushed by force\nunsubscribed: fa-profile\n"
              "subscribed: the program\nregistered\nbegan: 0\nflushed by force\nunsubscribed: the program\n"
              "subscribed: the program\nregistered\nbegan: 0\nflushed by force\nunsubscribed: the program\n")
        << mode;
    EXPECT_TRUE(
        run.err.starts_with("fa-profile: libown_profiler.so uses CUPTI itself, as torch.profiler does: "
                            "nothing is recorded from "))
        << run.err;
  }
}

TEST_F(StepBackTest, CuptiIsLeftBeforeTheDelayIsOver) {
  const Outcome run = Run("early", 100.0);
  EXPECT_EQ(run.exit_code, 7);
  EXPECT_TRUE(Contains(run.out, "unsubscribed: fa-profile\nsubscribed: the program\nregistered\nbegan: 0\n"));
}

TEST_F(StepBackTest, WhoSubscribedBeforeKeepsCupti) {
  const Outcome run = Run("before");
  EXPECT_EQ(run.exit_code, 7);
  EXPECT_EQ(run.out, "subscribed: the program\nregistered\nrefused\n");
  EXPECT_EQ(run.err,
            "fa-profile: another profiler is attached to this program, so nothing is measured; run it without that "
            "profiler\n");
}

TEST_F(StepBackTest, WhileTheGpuIsBusyItIsSampledOnAndTheOtherLibraryIsRefused) {
  const Outcome run = Run("busy");
  EXPECT_EQ(run.exit_code, 7);
  EXPECT_EQ(run.out, "subscribed: fa-profile\nregistered\nsampling\nbegan: 39\nbegan: 39\n");
  EXPECT_EQ(run.err, kRefused);
}

TEST_F(StepBackTest, TheProgramDoesNotWaitForEver) {
  const Outcome run = Run("early", 0.0, "SLOW_CUPTI=1");
  EXPECT_EQ(run.exit_code, 7);
  EXPECT_EQ(run.out, "subscribed: fa-profile\nregistered\nbegan: 39\nbegan: 39\n");
  EXPECT_EQ(run.err, kRefused);
}

}  // namespace
}  // namespace fa_profile::inject::step_back_test
