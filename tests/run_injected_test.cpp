// How a program is started to be measured, and what its end means, with programs that play the injected library.
#include "fa_profile/run_injected.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "fa_profile/error.h"
#include "fa_profile/inject_protocol.h"
#include "fa_profile/private_folder.h"
#include "fa_profile/recording_file.h"

namespace fa_profile::inject::run_injected_test {
namespace {

class RunInjectedTest : public testing::Test {
 protected:
  InjectedEnd Run(const std::string& script) {
    InjectPlan plan;
    plan.session.command_line = "fa-profile -- \"x\"";
    plan.metrics = {"a.sum", "b.avg"};
    plan.built_in_set = "full";
    plan.output = output_;
    plan.overwrite = overwrite_;
    plan.kernel_pattern = "soft.*";
    plan.max_classes = 7;
    plan.replay = ProgramReplay::kKernel;
    plan.least_share_ratio = 0.25;
    plan.phases = true;
    plan.delay_s = 1.5;
    plan.duration_s = 2.5;
    plan.record_all_s = 3.5;
    plan.nvtx_pattern = "step";
    plan.launch_skip = 11;
    plan.launch_count = 12;
    plan.from_start = false;
    plan.children = false;
    plan.cache_dir = "/cache";
    return RunInjected({"/bin/sh", "-c", script}, plan);
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

TEST_F(RunInjectedTest, AnotherToolsLibraryIsNamedWithItsCure) {
  unsetenv("CUDA_INJECTION64_PATH");
  unsetenv("NVTX_INJECTION64_PATH");
  ASSERT_EQ(DiagnosePrograms().size(), 1U);
  EXPECT_EQ(DiagnosePrograms()[0].level, Diagnosis::Level::kOk) << DiagnosePrograms()[0].detail;
  setenv("CUDA_INJECTION64_PATH", "/opt/tool.so", 1);
  setenv("NVTX_INJECTION64_PATH", "/opt/other.so", 1);
  const std::vector<Diagnosis> found = DiagnosePrograms();
  unsetenv("CUDA_INJECTION64_PATH");
  unsetenv("NVTX_INJECTION64_PATH");
  ASSERT_EQ(found.size(), 2U);
  for (const Diagnosis& diagnosis : found) EXPECT_EQ(diagnosis.level, Diagnosis::Level::kWarning);
  EXPECT_NE(found[0].detail.find("/opt/tool.so"), std::string::npos);
  EXPECT_EQ(found[1].cure, "unset NVTX_INJECTION64_PATH");
}

TEST_F(RunInjectedTest, ACuptiOfAnotherCudaThatProgramsWouldFindIsNamed) {
  const std::string cupti = (folder_.path() / "libcupti.so.7").string();
  std::ofstream(cupti) << "x";
  std::ofstream(folder_.path() / "libcupti.so.2025.3.1") << "x";
  setenv("LD_LIBRARY_PATH", ("/nowhere:" + folder_.path().string()).c_str(), 1);
  const std::vector<Diagnosis> found = DiagnosePrograms();
  unsetenv("LD_LIBRARY_PATH");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].level, Diagnosis::Level::kWarning);
  EXPECT_TRUE(found[0].detail.starts_with(cupti + " belongs to another CUDA version")) << found[0].detail;
}

TEST_F(RunInjectedTest, ThePlanCrossesTheProcessBoundary) {
  const InjectedEnd end = Run("cat \"$FA_PROFILE_INJECT_FOLDER/plan\" > " + output_ + "; echo " + output_ +
                              " >> \"$FA_PROFILE_INJECT_FOLDER/recordings\"");
  EXPECT_EQ(end.recordings, std::vector{output_});
  EXPECT_EQ(end.status, 0);
  const InjectPlan plan = ReadInjectPlan(Written());
  EXPECT_EQ(plan.session.command_line, "fa-profile -- \"x\"");
  EXPECT_EQ(plan.metrics, (std::vector<std::string>{"a.sum", "b.avg"}));
  EXPECT_EQ(plan.built_in_set, "full");
  EXPECT_EQ(plan.output, output_);
  EXPECT_FALSE(plan.overwrite);
  EXPECT_EQ(plan.kernel_pattern, "soft.*");
  EXPECT_EQ(plan.max_classes, 7);
  EXPECT_EQ(plan.replay, ProgramReplay::kKernel);
  EXPECT_EQ(plan.least_share_ratio, 0.25);
  EXPECT_TRUE(plan.phases);
  EXPECT_EQ(plan.delay_s, 1.5);
  EXPECT_EQ(plan.duration_s, 2.5);
  EXPECT_EQ(plan.record_all_s, 3.5);
  EXPECT_EQ(plan.nvtx_pattern, "step");
  EXPECT_EQ(plan.launch_skip, 11);
  EXPECT_EQ(plan.launch_count, 12);
  EXPECT_FALSE(plan.from_start);
  EXPECT_FALSE(plan.children);
  EXPECT_EQ(plan.cache_dir, "/cache");
}

TEST_F(RunInjectedTest, TheLibraryIsNamedToTheDriver) {
  (void)Run("echo \"${CUDA_INJECTION64_PATH##*/}\" > " + output_ + "; echo " + output_ +
            " >> \"$FA_PROFILE_INJECT_FOLDER/recordings\"");
  EXPECT_EQ(Written(), "libfa_profile_inject.so\n");
}

TEST_F(RunInjectedTest, AKilledProgramLeavesThePartThatWasMeasured) {
  const InjectedEnd end = Run("echo x > " + output_ + ".part; echo " + output_ +
                              " >> \"$FA_PROFILE_INJECT_FOLDER/recordings\"; kill -9 $$");
  EXPECT_EQ(end.recordings, std::vector{output_ + ".part"});
  EXPECT_TRUE(WIFSIGNALED(end.status));
}

TEST_F(RunInjectedTest, AFinishedRecordingGetsTheNameThatItsProgramMayNotGive) {
  const std::string finished = (folder_.path() / "finished").string();
  store::RecordingWriter(finished, false).Finish();
  const InjectedEnd end =
      Run("echo " + output_ + " >> \"$FA_PROFILE_INJECT_FOLDER/recordings\"; mv " + finished + " " + output_ + ".part");
  EXPECT_EQ(end.recordings, std::vector<std::string>{output_});
  EXPECT_TRUE(store::RecordingReader(output_).Load().session.complete);
}

TEST_F(RunInjectedTest, EveryProcessThatRecordedIsListedInItsOrder) {
  const InjectedEnd end = Run("for name in a b c; do echo x > " + output_ + ".$name; echo " + output_ +
                              ".$name >> \"$FA_PROFILE_INJECT_FOLDER/recordings\"; done; rm " + output_ + ".b");
  EXPECT_EQ(end.recordings, (std::vector{output_ + ".a", output_ + ".c"}));
}

TEST_F(RunInjectedTest, WhatAKilledProcessLeftIsListedWhenItWasStartedAgain) {
  const InjectedEnd end = Run("echo x > " + output_ + "; for line in '" + output_ + "\t" + output_ + ".part.1' '" +
                              output_ + "\t" + output_ +
                              ".part.2'; do printf \"$line\\n\" >> "
                              "\"$FA_PROFILE_INJECT_FOLDER/recordings\"; done");
  // The first is from an earlier run.
  EXPECT_EQ(end.recordings, (std::vector{output_, output_ + ".part.2"}));
}

// Writes a recording until the other end of the pipe closes.
class OtherWriter {
 public:
  explicit OtherWriter(const std::string& path) {
    int start[2];
    int end[2];
    EXPECT_EQ(pipe(start) + pipe(end), 0);
    process_ = fork();
    if (process_ == 0) {
      (void)close(end[1]);
      store::RecordingWriter writer(path);
      writer.Commit();
      char byte = 0;
      (void)!write(start[1], &byte, 1);
      (void)!read(end[0], &byte, 1);
      writer.Finish();
      _exit(0);
    }
    char byte = 0;
    EXPECT_EQ(read(start[0], &byte, 1), 1);
    (void)close(end[0]);
    end_ = end[1];
  }
  void End() const {
    (void)close(end_);
    (void)waitpid(process_, nullptr, 0);
  }
  pid_t process() const { return process_; }

 private:
  pid_t process_ = 0;
  int end_ = -1;
};

TEST_F(RunInjectedTest, AProcessThatOutlivesTheProgramIsNamedAndNotWaitedFor) {
  const std::string list = " >> \"$FA_PROFILE_INJECT_FOLDER/recordings\"";
  const OtherWriter daemon(output_);
  const InjectedEnd end =
      Run("echo x > " + output_ + ".main; echo " + output_ + list + "; echo " + output_ + ".main" + list + "; exit 5");
  EXPECT_EQ(WEXITSTATUS(end.status), 5);
  EXPECT_EQ(end.recordings, std::vector{output_ + ".main"});
  ASSERT_EQ(end.running.size(), 1U);
  EXPECT_EQ(end.running[0].recording, output_);
  EXPECT_EQ(end.running[0].process, daemon.process());
  EXPECT_TRUE(Run("echo " + output_ + list).recordings.empty());  // only the daemon's
  daemon.End();
  EXPECT_EQ(store::WriterOf(output_ + ".part"), std::nullopt);
  EXPECT_FALSE(Written().empty());  // it has its name now
}

TEST_F(RunInjectedTest, AProgramThatMeasuredNothingIsAnErrorThatTellsItsEnd) {
  EXPECT_NE(ErrorOf("true").find("nothing was measured: /bin/sh launched no kernel"), std::string::npos);
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

TEST(ExpandOutputTest, SignsBecomeTheProcessTheHostAndTheEnvironment) {
  const std::string pid = std::to_string(getpid());
  setenv("RANK_OF_TEST", "3/x", 1);
  EXPECT_EQ(ExpandOutput("a-%p.fap", true), "a-" + pid + ".fap");
  EXPECT_EQ(ExpandOutput("r%q{RANK_OF_TEST}.fap", false), "r3_x.fap");
  EXPECT_EQ(ExpandOutput("r%q{NOT_SET_AT_ALL}.fap", false), "r.fap");
  EXPECT_EQ(ExpandOutput("100%%.fap", true), "100%.fap");
  EXPECT_EQ(ExpandOutput("%q{open %x %", true), "%q{open %x %");
  EXPECT_EQ(ExpandOutput("%h", true).find('%'), std::string::npos);
}

TEST(ExpandOutputTest, ALaterProcessGetsANameOfItsOwn) {
  const std::string pid = std::to_string(getpid());
  EXPECT_EQ(ExpandOutput("run.fap", true), "run.fap");
  EXPECT_EQ(ExpandOutput("run.fap", false), "run." + pid + ".fap");
  EXPECT_EQ(ExpandOutput("run", false), "run." + pid);
}

}  // namespace
}  // namespace fa_profile::inject::run_injected_test
