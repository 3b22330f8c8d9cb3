// How a program is started to be measured, and what its end means, with programs that play the injected library.
#include "fa_profile/run_injected.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <fstream>
#include <iterator>

#include "fa_profile/error.h"
#include "fa_profile/inject_protocol.h"
#include "fa_profile/private_folder.h"

namespace fa_profile {
namespace {

class RunInjectedTest : public testing::Test {
 protected:
  InjectedEnd Run(const std::string& script) {
    InjectedRun run;
    run.program = {"/bin/sh", "-c", script};
    run.session.command_line = "fa-profile -- \"x\"";
    run.metrics = {"a.sum", "b.avg"};
    run.built_in_set = "full";
    run.output = output_;
    run.overwrite = overwrite_;
    run.kernel_pattern = "soft.*";
    run.max_launches = 7;
    run.cache_dir = "/cache";
    return RunInjected(run);
  }
  std::string ErrorOf(const std::string& script) {
    try {
      (void)Run(script);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  std::string Written() const {
    std::ifstream file(output_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  PrivateFolder folder_;
  std::string output_ = (folder_.path() / "f.fap").string();
  bool overwrite_ = false;
};

TEST_F(RunInjectedTest, TheEnvironmentCarriesWhatTheLibraryNeeds) {
  const InjectedEnd end = Run(R"(e() { echo "$FA_PROFILE_INJECT_OVERWRITE $FA_PROFILE_INJECT_SET" \
    "$FA_PROFILE_INJECT_KERNEL $FA_PROFILE_INJECT_MAX_LAUNCHES $FA_PROFILE_INJECT_CACHE" "${CUDA_INJECTION64_PATH##*/}"
    cat "$FA_PROFILE_INJECT_METRICS"; }; e > "$FA_PROFILE_INJECT_OUTPUT")");
  EXPECT_EQ(end.recording, output_);
  EXPECT_EQ(end.status, 0);
  EXPECT_EQ(Written(), "0 full soft.* 7 /cache libfa_profile_inject.so\na.sum\nb.avg\n");
}

TEST_F(RunInjectedTest, TheSessionCrossesTheProcessBoundary) {
  (void)Run("printf %s \"$FA_PROFILE_INJECT_SESSION\" > \"$FA_PROFILE_INJECT_OUTPUT\"");
  EXPECT_EQ(ReadSession(Written()).command_line, "fa-profile -- \"x\"");
}

TEST_F(RunInjectedTest, AKilledProgramLeavesThePartThatWasMeasured) {
  const InjectedEnd end = Run("echo x > \"$FA_PROFILE_INJECT_OUTPUT.part\"; kill -9 $$");
  EXPECT_EQ(end.recording, output_ + ".part");
  EXPECT_TRUE(WIFSIGNALED(end.status));
}

TEST_F(RunInjectedTest, AProgramThatMeasuredNothingIsAnErrorThatTellsItsEnd) {
  EXPECT_NE(ErrorOf("true").find("nothing was measured: /bin/sh launched no kernel that matches soft.*"),
            std::string::npos);
  EXPECT_NE(ErrorOf("exit 3").find("its exit code is 3"), std::string::npos);
  EXPECT_NE(ErrorOf("kill -9 $$").find("was killed (Killed)"), std::string::npos);
}

TEST_F(RunInjectedTest, AnOlderRecordingIsNotThatOfThisRun) {
  std::ofstream(output_) << "old";
  EXPECT_NE(ErrorOf("true").find("exists"), std::string::npos);
  overwrite_ = true;
  EXPECT_NE(ErrorOf("true").find("nothing was measured"), std::string::npos);
  EXPECT_EQ(Written(), "old");
}

}  // namespace
}  // namespace fa_profile
