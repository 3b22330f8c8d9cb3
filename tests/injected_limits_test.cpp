// The library that is injected into a program must not end it, whatever the program has too little of.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "fa_profile/inject_protocol.h"
#include "run_program.h"
#include "test_files.h"

namespace fa_profile::inject::injected_limits_test {
namespace {

class InjectedLimitsTest : public FolderTest {
 protected:
  void SetUp() override {
    InjectPlan plan;
    plan.output = (folder_ / "f.fap").string();
    plan.phases = true;
    WriteFile(folder_ / kInjectPlanFile, WriteInjectPlan(plan));
  }
  // `limit`: of a shell, before the program.
  Outcome Run(const std::string& mode, const std::string& environment = "", const std::string& limit = "true") const {
    return RunInShell(folder_, "(" + limit + "; exec env " + environment + " " + kInjectFolder + "=" +
                                   folder_.string() +
                                   " LD_PRELOAD=" FA_PROFILE_FAKE_CUPTI " timeout 60 " FA_PROFILE_PROFILED_PROGRAM " " +
                                   mode + " " + injected_ + " " FA_PROFILE_OWN_PROFILER ")");
  }
  std::string injected_ = FA_PROFILE_INJECTED;
};

TEST_F(InjectedLimitsTest, AProgramEndsAsItWouldWhereverMemoryIsUsedUp) {
  for (const int allocations :
       {0, 1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 70, 80, 100, 10000}) {
    const Outcome run = Run("plain", "FAIL_ALLOCATIONS=" + std::to_string(allocations));
    EXPECT_EQ(run.exit_code, 7) << allocations << ": " << run.err;
  }
}

TEST_F(InjectedLimitsTest, WithLittleAddressSpaceLeftRecordingEnds) {
  const Outcome run = Run("limited");
  EXPECT_EQ(run.exit_code, 7);
  EXPECT_TRUE(Contains(run.err, "measuring ended: the program limits its memory (RLIMIT_AS or RLIMIT_DATA): 3"));
}

TEST_F(InjectedLimitsTest, ANoticeThatCannotBeWrittenEndsNoProgram) {
  const Outcome run = Run("before", "", "ulimit -f 0; exec >/dev/null");
  EXPECT_EQ(run.exit_code, 7);
  EXPECT_EQ(run.err, "");
}

TEST_F(InjectedLimitsTest, WithoutAThreadOfItsOwnTheLibraryLeavesCupti) {
  const Outcome run = Run("plain", "FAIL_THREADS=1");
  EXPECT_EQ(run.exit_code, 7);
  EXPECT_TRUE(Contains(run.err, "fa-profile: nothing is measured: "));
  EXPECT_TRUE(Contains(run.out, "unsubscribed: fa-profile"));
}

// XLA's graphs would fail.
TEST_F(InjectedLimitsTest, CopiesAreNotTracedInAProcessThatHasLoadedJax) {
  EXPECT_TRUE(Contains(Run("plain", "TELL_COPIES=1").out, "copies are traced"));
  std::filesystem::create_directory(folder_ / "jaxlib");
  injected_ = (folder_ / "jaxlib" / "any.so").string();
  std::filesystem::copy_file(FA_PROFILE_INJECTED, injected_);
  const Outcome run = Run("plain", "TELL_COPIES=1");
  EXPECT_EQ(run.exit_code, 7);
  EXPECT_TRUE(Contains(run.out, "subscribed: fa-profile"));
  EXPECT_FALSE(Contains(run.out, "copies are traced"));
}

}  // namespace
}  // namespace fa_profile::inject::injected_limits_test
