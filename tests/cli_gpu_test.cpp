// The program on a real GPU: whole runs, and what happens when they are killed, interrupted or refused.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "fa_profile/device.h"
#include "fa_profile/recording_file.h"
#include "rungs.h"
#include "test_files.h"

namespace fa_profile {
namespace {

using Clock = std::chrono::steady_clock;

class CliGpuTest : public FolderTest {
 protected:
  void SetUp() override {
    if (collect::DeviceCount() == 0) GTEST_SKIP() << "no GPU here: " << collect::WhyNoDevice();
    setenv("XDG_CACHE_HOME", (std::filesystem::temp_directory_path() / "fa-profile-gpu-cache").c_str(), 1);
  }
  pid_t Start(std::vector<std::string> arguments, rlim_t file_limit = RLIM_INFINITY) const {
    arguments.insert(arguments.begin(), FA_PROFILE_PROGRAM);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const pid_t child = fork();
    if (child != 0) return child;
    if (file_limit != RLIM_INFINITY) {
      const rlimit limit{file_limit, file_limit};
      setrlimit(RLIMIT_FSIZE, &limit);
      (void)std::signal(SIGXFSZ, SIG_IGN);
    }
    if (chdir(folder_.c_str()) != 0) _exit(99);
    dup2(open("out", O_CREAT | O_WRONLY | O_TRUNC, 0600), STDOUT_FILENO);
    dup2(open("err", O_CREAT | O_WRONLY | O_TRUNC, 0600), STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(99);
  }
  static int Wait(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  int Run(const std::vector<std::string>& arguments) const { return Wait(Start(arguments)); }
  std::string Out() const { return ReadFile(folder_ / "out"); }
  std::string Err() const { return ReadFile(folder_ / "err"); }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  bool Exists(const std::string& name) const { return std::filesystem::exists(folder_ / name); }
};

TEST_F(CliGpuTest, ARunWritesARecordingThatCanBeRead) {
  ASSERT_EQ(Run({"--ncu-set", "basic", "-o", "a.fap", "--draws", "3"}), 0) << Err();
  EXPECT_FALSE(Exists("a.fap.part"));
  const Recording recording = store::RecordingReader(Path("a.fap")).Load();
  EXPECT_TRUE(recording.session.complete);
  const std::size_t rungs = RungsOfFiles(FA_PROFILE_SOURCE).size();
  EXPECT_EQ(recording.cases.size(), rungs);
  EXPECT_EQ(recording.ranges.size(), rungs + 3);  // cublas has three parts
  EXPECT_EQ(recording.clocks.size(), 2U);
  EXPECT_EQ(Run({"report", "a.fap"}), 0);
  EXPECT_NE(Out().find("serial_softmax"), std::string::npos);
}

TEST_F(CliGpuTest, AnExistingRecordingIsNotTouched) {
  std::ofstream(folder_ / "a.fap") << "precious";
  EXPECT_EQ(Run({"--ncu-set", "phases", "-o", "a.fap"}), 2);
  EXPECT_EQ(ReadFile(folder_ / "a.fap"), "precious");
  EXPECT_NE(Err().find("--force"), std::string::npos) << Err();
  EXPECT_EQ(Run({"--ncu-set", "phases", "-o", "nowhere/a.fap"}), 2);
  EXPECT_NE(Err().find("nowhere"), std::string::npos) << Err();
}

TEST_F(CliGpuTest, TheSelfTestPasses) {
  EXPECT_EQ(Run({"selftest", "-o", "s.fap"}), 0) << Out() << Err();
  EXPECT_NE(Out().find("PASS: "), std::string::npos) << Out();
  EXPECT_EQ(Out().find("FAIL"), std::string::npos) << Out();
  EXPECT_EQ(store::RecordingReader(Path("s.fap")).Load().session.metric_set, "selftest");
  EXPECT_EQ(Run({"report", "s.fap", "--summary"}), 0) << Err();
  EXPECT_EQ(Run({"selftest", "--kernel", "hmma", "--format", "json"}), 0) << Err();
  EXPECT_TRUE(Out().starts_with("{")) << Out();
}

TEST_F(CliGpuTest, BadInputIsOneErrorAndWritesNoFile) {
  EXPECT_EQ(Run({"--shape", "1,8,512,80", "-o", "a.fap"}), 2);
  EXPECT_NE(Err().find("head"), std::string::npos) << Err();
  EXPECT_EQ(Run({"--metrics", "sm__no_such.sum", "-o", "a.fap"}), 2);
  EXPECT_NE(Err().find("sm__no_such"), std::string::npos) << Err();
  EXPECT_EQ(Run({"--device", "99", "-o", "a.fap"}), 2);
  EXPECT_EQ(Run({"--shape", "64,128,2048,64", "--kernel", "cublas", "-o", "a.fap"}), 2);  // S and P take 206 GB
  EXPECT_NE(Err().find("memory"), std::string::npos) << Err();
  EXPECT_FALSE(Exists("a.fap"));
}

TEST_F(CliGpuTest, AKilledRunKeepsEveryFinishedRange) {
  // A hundred ranges are three batches; a range is finished when its batch is.
  std::vector<std::string> arguments = {"--ncu-set", "basic",    "--draws",       "1",  "--repeats",
                                        "0",         "--kernel", "^tiled$|^mma$", "-o", "k.fap"};
  for (int s = 1; s <= 50; ++s) {
    arguments.emplace_back("--shape");
    arguments.emplace_back("1,2," + std::to_string(16 * s) + ",64");
  }
  std::size_t most = 0;
  std::size_t opened = 0;
  for (int delay_ms = 300; delay_ms < 6000; delay_ms += 120) {
    const pid_t child = Start(arguments);
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    kill(child, SIGKILL);
    Wait(child);
    if (Exists("k.fap")) break;  // it was faster
    if (Exists("k.fap.part") && std::filesystem::file_size(folder_ / "k.fap.part") > 0) {
      const Recording recording = store::RecordingReader(Path("k.fap.part")).Load();
      EXPECT_FALSE(recording.session.complete);
      for (const Range& range : recording.ranges) EXPECT_FALSE(range.metrics.empty());
      most = std::max(most, recording.ranges.size());
      ++opened;
    }
    for (const auto& file : std::filesystem::directory_iterator(folder_)) std::filesystem::remove(file);
  }
  std::printf("%zu killed runs opened, up to %zu ranges kept\n", opened, most);
  EXPECT_GT(opened, 0U);
  EXPECT_GT(most, 0U);
}

TEST_F(CliGpuTest, CtrlCEndsWithOneErrorAndKeepsThePartialRecording) {
  const pid_t child = Start({"--ncu-set", "full", "-o", "i.fap"});
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  kill(child, SIGINT);
  EXPECT_EQ(Wait(child), 2) << Err();
  EXPECT_NE(Err().find("interrupted"), std::string::npos) << Err();
  EXPECT_FALSE(Exists("i.fap"));
  EXPECT_TRUE(Exists("i.fap.part"));
}

TEST_F(CliGpuTest, AFullDiskIsOneErrorAndNothingUnderTheFinalName) {
  EXPECT_EQ(Wait(Start({"--ncu-set", "basic", "-o", "f.fap", "--draws", "1", "--repeats", "1"}, 200 * 1024)), 2);
  EXPECT_NE(Err().find("f.fap"), std::string::npos) << Err();
  EXPECT_NE(Err().find("hint:"), std::string::npos) << Err();
  EXPECT_FALSE(Exists("f.fap"));
}

TEST_F(CliGpuTest, AnotherProfilerThatHoldsTheCountersIsNamed) {
  if (std::system("ncu --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "needs ncu as the other profiler";
  const std::string command = "cd " + folder_.string() +
                              " && ncu --clock-control none " FA_PROFILE_PROGRAM " --ncu-set phases -o y.fap >out 2>&1";
  EXPECT_NE(std::system(command.c_str()), 0);
  EXPECT_NE(Out().find("another profiler holds the counters"), std::string::npos) << Out();
  EXPECT_FALSE(Exists("y.fap"));
}

TEST_F(CliGpuTest, AKernelLibraryIsVerifiedMeasuredAndRecordedBesideTheRungs) {
  const std::string library = FA_PROFILE_EXAMPLES "/attention.so";
  ASSERT_EQ(Run({"--ncu-set", "phases", "--kernel-lib", library, "--kernel", "varlen_gqa|^mma$", "--draws", "3", "-o",
                 "l.fap"}),
            0)
      << Err();
  const Recording recording = store::RecordingReader(Path("l.fap")).Load();
  ASSERT_EQ(recording.cases.size(), 2U);
  EXPECT_EQ(recording.cases[1].kernel, "varlen_gqa");
  EXPECT_EQ(recording.cases[1].origin, library);
  EXPECT_EQ(recording.ranges.size(), 2U);
}

TEST_F(CliGpuTest, AKernelLibraryThatFailsIsNamed) {
  const auto run = [&](const std::string& library, const std::string& fault) {
    return Run({"--ncu-set", "phases", "--draws", "1", "--repeats", "1", "--kernel", "^(mma|scale_rows)$", "--shape",
                "1,8,512,64", "--shape", "fault=" + fault, "--kernel-lib",
                std::string(FA_PROFILE_KERNEL_LIBS) + "/" + library, "--force", "-o", "l.fap"});
  };
  for (const char* const library :
       {"missing_symbol.so", "other_version.so", "version_1.so", "bad_name.so", "exits_in_name.so"}) {
    EXPECT_EQ(run(library, "0"), 2) << library;
    EXPECT_NE(Err().find(library), std::string::npos) << library << ": " << Err();
    EXPECT_FALSE(Exists("l.fap")) << library;
  }
  EXPECT_EQ(Run({"--ncu-set", "phases", "--kernel", "^scale_rows$", "--shape", "fault=7", "--kernel-lib",
                 FA_PROFILE_KERNEL_LIBS "/tensors.so", "-o", "none.fap"}),
            2);
  EXPECT_NE(Err().find("no kernel takes the shape"), std::string::npos) << Err();
  // A kernel that is wrong, crashes or ends its process is reported; the others are measured and the exit code shows
  // it.
  for (const char* const fault : {"1", "5", "6", "13", "16"}) {
    EXPECT_EQ(run("tensors.so", fault), 1) << fault << ": " << Err();
    const Recording recording = store::RecordingReader(Path("l.fap")).Load();
    ASSERT_EQ(recording.verifications.size(), 2U) << fault;
    EXPECT_TRUE(recording.verifications[0].correct()) << fault;
    EXPECT_FALSE(recording.verifications[1].correct()) << fault;
    EXPECT_EQ(recording.timings.size(), 1U) << fault << ": the speed of a wrong kernel is not a result";
  }
}

TEST_F(CliGpuTest, WhatALibraryPrintsIsShownAsItsOwnAndChangesNoVerdict) {
  const std::string prints = std::string(FA_PROFILE_KERNEL_LIBS) + "/prints.so";
  ASSERT_EQ(Run({"verify", "--no-timing", "--kernel-lib", prints, "--kernel", "^prints$", "--draws", "2"}), 0) << Err();
  EXPECT_NE(Out().find("PASS: 1 comparisons, 0 not correct"), std::string::npos) << Out();
  EXPECT_EQ(Out().find("from the GPU"), std::string::npos) << Out();
  EXPECT_NE(Err().find("prints.so printed: "), std::string::npos) << Err();
  EXPECT_NE(Err().find("from the GPU"), std::string::npos) << Err();
  EXPECT_EQ(Err().find('\x1b'), std::string::npos) << Err();
  // In a sample of the gate, too, stdout is ours.
  (void)Run({"gate-sample", "--kernel-lib", prints, "--kernel", "^prints$"});
  EXPECT_TRUE(Out().starts_with("{")) << Out();
}

TEST_F(CliGpuTest, VerifyGoesOnAfterALibraryThatEndsItsProcess) {
  for (const char* const fault : {"6", "13", "16"}) {
    EXPECT_EQ(Run({"verify", "--kernel-lib", FA_PROFILE_KERNEL_LIBS "/tensors.so", "--kernel", "^scale_rows$|^mma$",
                   "--shape", std::string("fault=") + fault, "--shape", "1,2,64,64", "--draws", "1"}),
              1)
        << fault << ": " << Err();
    EXPECT_NE(Out().find("FAILED: "), std::string::npos) << fault << ": " << Out();
    EXPECT_NE(Out().find("FAIL: 2 comparisons, 1 not correct"), std::string::npos) << fault << ": " << Out();
  }
}

TEST_F(CliGpuTest, AnUnmodifiedProgramIsProfiled) {
  ASSERT_EQ(Run({"--ncu-set", "basic", "--replay", "kernel", "--top", "3", "--kernel", "Mma|Tiled", "-o", "p.fap", "--",
                 FA_PROFILE_LADDER_ONCE, "--rungs", "tiled,mma", "--repeat", "2"}),
            0)
      << Err();
  const Recording recording = store::RecordingReader(Path("p.fap")).Load();
  EXPECT_TRUE(recording.session.complete);
  ASSERT_EQ(recording.ranges.size(), 2U);
  EXPECT_GT(recording.launches[0].registers_per_thread, 0);
  EXPECT_EQ(Run({"--ncu-set", "basic", "-o", "q.fap", "--", "/bin/true"}), 2);
  EXPECT_NE(Err().find("launched no kernel"), std::string::npos) << Err();
  EXPECT_EQ(Run({"--ncu-set", "basic", "-o", "q.fap", "--", "/no/such/program"}), 2);
  EXPECT_NE(Err().find("cannot be started: No such file"), std::string::npos) << Err();
  EXPECT_EQ(Run({"--ncu-set", "basic", "-o", "q.fap", "--", "/bin/sh", "-c", "exit 127"}), 2);
  EXPECT_NE(Err().find("launched no kernel; its exit code is 127"), std::string::npos) << Err();
}

TEST_F(CliGpuTest, VerifyComparesEveryRung) {
  EXPECT_EQ(Run({"verify", "--shape", "1,1,65,64", "--draws", "2"}), 0) << Err();
  const std::string comparisons = std::to_string(RungsOfFiles(FA_PROFILE_SOURCE).size()) + " comparisons";
  EXPECT_NE(Out().find("PASS: " + comparisons + ", 0 not correct"), std::string::npos) << Out();
}

}  // namespace
}  // namespace fa_profile
