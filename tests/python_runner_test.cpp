#include "fa_profile/python_runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <utility>

#include "fa_profile/child_process.h"
#include "fa_profile/error.h"
#include "test_files.h"

namespace fa_profile::python::python_runner_test {
namespace {

constexpr const char* kKernel = R"(
import os, signal, time, torch

def double(x):
    if x.numel() == CRASH:
        os.kill(os.getpid(), signal.SIGSEGV)
    if x.numel() == WRONG:
        return x
    torch.spend_ns(1000)
    print("called \x1b[31m")
    return x + x

CRASH = WRONG = 0

def inputs(n):
    return torch.randn(n)

double.fa_profile = {"inputs": inputs, "reference": lambda x: x + x, "shapes": [{"n": 1}, {"n": 2}, {"n": 3}]}
)";
const std::vector<std::string> kCases = {"double@n=1", "double@n=2", "double@n=3"};

// With the real runner and a fake torch, or with a script in place of the runner.
class PythonRunnerTest : public FolderTest {
 protected:
  void SetUp() override { (void)setenv("PYTHONPATH", FA_PROFILE_SOURCE "/tests/support/fake_torch", 1); }
  void TearDown() override { (void)unsetenv("PYTHONPATH"); }

  PythonSetup Setup(const std::string& more = "") {
    WriteFile(folder_ / "kernel.py", kKernel + more);
    PythonSetup setup;
    setup.runner = FA_PROFILE_SOURCE "/profiler/python/fa_profile_kernel.py";
    setup.kernel = {(folder_ / "kernel.py").string(), "double"};
    setup.timeout_seconds = 600;
    setup.print = [this](const std::string& line) { printed_ += line + "\n"; };
    return setup;
  }
  // A runner that is a shell script; the file of answers is "$5".
  PythonRunner Script(const std::string& script) {
    PythonSetup setup = Setup();
    setup.python = "/bin/sh";
    setup.runner = (folder_ / "runner.sh").string();
    WriteFile(setup.runner, script);
    return PythonRunner(setup);
  }
  template <typename Ask>
  static std::string Refusal(const Ask& ask) {
    try {
      ask();
    } catch (const Error& error) {
      return error.message() + " | " + error.hint();
    }
    return "no error";
  }

  std::string printed_;
};

TEST_F(PythonRunnerTest, DescribesTheCasesAndTheTolerance) {
  const PythonDescription description = PythonRunner(Setup()).Describe();
  EXPECT_EQ(description.cases, kCases);
  EXPECT_EQ(description.absolute_tolerance, 1e-3);
  EXPECT_EQ(description.relative_tolerance, 1e-3);
  EXPECT_EQ(description.contract.size(), 64U);
}

TEST_F(PythonRunnerTest, VerifiesEachCaseAndPassesOnWhatIsPrinted) {
  const auto results = PythonRunner(Setup("WRONG = 2\n")).Verify(kCases, 3, 1);
  ASSERT_EQ(results.size(), 3U);
  EXPECT_TRUE(results[0].verification.correct());
  EXPECT_EQ(results[0].verification.draws, 3);
  EXPECT_FALSE(results[1].verification.correct());
  EXPECT_TRUE(Contains(Describe(results[1]), "WRONG, 0 of 3 draws"));
  EXPECT_TRUE(Contains(Describe(results[1]), "output at ["));
  EXPECT_TRUE(Contains(Describe(results[2]), "correct, 3 of 3 draws"));
  EXPECT_TRUE(Contains(printed_, "kernel.py printed: called \\x1B[31m\n"));
}

TEST_F(PythonRunnerTest, ACaseThatCrashesIsBlamedAndTheOthersAreVerified) {
  const auto results = PythonRunner(Setup("CRASH = 2\n")).Verify(kCases, 2, 1);
  ASSERT_EQ(results.size(), 3U);
  EXPECT_TRUE(results[0].verification.correct());
  EXPECT_TRUE(Contains(results[1].verification.error, "was killed by signal 11"));
  EXPECT_TRUE(results[2].verification.correct());
}

TEST_F(PythonRunnerTest, ACaseThatHangsIsBlamed) {
  PythonSetup setup = Setup();
  setup.python = "/bin/sh";
  setup.runner = (folder_ / "runner.sh").string();
  setup.timeout_seconds = 1.5;
  WriteFile(setup.runner, "echo '{\"loaded\": true}' > \"$5\"; exec sleep 3600\n");
  const auto results = PythonRunner(setup).Verify({"double@n=1"}, 2, 1);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].verification.error, "its process did not end within 3 s");
}

TEST_F(PythonRunnerTest, TimesEachCase) {
  const auto timings = PythonRunner(Setup("CRASH = 2\n")).Time(kCases, 5, 2);
  ASSERT_EQ(timings.size(), 3U);
  ASSERT_EQ(timings[0].timing.durations_ns.size(), 5U);
  EXPECT_NEAR(timings[0].timing.durations_ns[0], 1000.0, 1.0);
  EXPECT_EQ(timings[0].timing.method, "graph replay, 200 calls a sample");
  EXPECT_TRUE(timings[0].timing.sm_clock_hz);
  EXPECT_TRUE(Contains(timings[1].error, "signal 11"));
  EXPECT_TRUE(timings[2].error.empty());
}

TEST_F(PythonRunnerTest, AProcessOfCallsAnswersInItsFile) {
  const PythonRunner runner{Setup()};
  const std::string answer = (folder_ / "answer").string();
  const std::vector<std::string> command = runner.RunCommand("double@n=3", 0.1, answer);
  const ChildEnd end = RunChildGroup(command[0], command, {600.0, nullptr});
  const PythonCalls calls = runner.ReadCalls("double@n=3", answer, end.status);
  EXPECT_EQ(calls.counted_calls, 4);
  EXPECT_GT(calls.calls, 4);
}

TEST_F(PythonRunnerTest, AProcessOfCallsWithoutAnAnswerIsAnErrorThatTellsHowItEnded) {
  const PythonRunner runner{Setup()};
  const std::string answer = (folder_ / "answer").string();
  EXPECT_TRUE(
      Contains(Refusal([&] { (void)runner.ReadCalls("double@n=1", answer, SIGALRM); }), "did not end within 600 s"));
  EXPECT_TRUE(Contains(Refusal([&] { (void)runner.ReadCalls("double@n=1", answer, SIGSEGV); }), "killed by signal 11"));
  WriteFile(answer, "{\"loaded\": true}\n{\"error\": {\"message\": \"no\", \"hint\": \"do\"}}\n");
  EXPECT_EQ(Refusal([&] { (void)runner.ReadCalls("double@n=1", answer, 0); }), "no | do");
}

TEST_F(PythonRunnerTest, ErrorsNameTheirCure) {
  PythonSetup setup = Setup();
  setup.python = (folder_ / "no_python").string();
  EXPECT_TRUE(Contains(Refusal([&] { (void)PythonRunner(setup).Describe(); }), "--python /path"));
  EXPECT_TRUE(Contains(Refusal([&] { (void)PythonRunner(Setup("1 / 0\n")).Describe(); }), "ZeroDivisionError"));
  EXPECT_TRUE(Contains(Refusal([&] { (void)PythonRunner(Setup("os._exit(3)\n")).Describe(); }),
                       "ended its process while it was loaded: it ended with exit code 3"));
  setup = Setup("time.sleep(3600)\n");
  setup.timeout_seconds = 1;
  EXPECT_TRUE(Contains(Refusal([&] { (void)PythonRunner(setup).Describe(); }), "--timeout"));
  const std::atomic<bool> interrupted{true};
  setup.interrupted = &interrupted;
  EXPECT_TRUE(Contains(Refusal([&] { (void)PythonRunner(setup).Describe(); }), "interrupted"));
}

TEST_F(PythonRunnerTest, WhatIsNoAnswerIsRefused) {
  const std::string loaded = "echo '{\"loaded\": true}' > \"$5\"\n";
  const auto describe = [&](const std::string& line) {
    const PythonRunner runner = Script(loaded + "echo '" + line + "' >> \"$5\"\n");
    return Refusal([&] { (void)runner.Describe(); });
  };
  EXPECT_TRUE(Contains(describe("{"), "invalid answer of the Python runner"));
  EXPECT_TRUE(Contains(describe("{\"verified\": {}}"), "invalid answer"));
  EXPECT_TRUE(Contains(describe("{\"described\": {\"version\": 9}}"), "version"));
  EXPECT_TRUE(
      Contains(describe("{\"described\": {\"version\": 1, \"tolerance\": [1, 1], \"contract\": \"\", \"cases\": []}}"),
               "invalid answer"));
  EXPECT_TRUE(Contains(Refusal([&] { (void)Script(loaded).Describe(); }), "gave no answer"));
  const auto verify = [&](const std::string& lines) {
    const PythonRunner runner = Script(loaded + lines);
    return Refusal([&] { (void)runner.Verify({"double@n=1"}, 1, 1); });
  };
  const std::string other =
      "echo '{\"verified\": {\"case\": \"other\", \"draws\": 1, \"draws_passed\": 1, \"max_abs_error\": 0, "
      "\"max_error_ratio\": 0, \"nonfinite\": 0, \"unwritten\": 0, \"worst\": \"\", \"error\": \"\"}}' >> \"$5\"\n";
  EXPECT_TRUE(Contains(verify(other), "is not of the case asked for"));
  EXPECT_TRUE(Contains(verify("echo '{\"done\": true}' >> \"$5\"\n"), "gave no answer to verify"));
}

TEST_F(PythonRunnerTest, ALineThatWasNotWrittenWholeIsLeftOut) {
  const PythonRunner runner = Script("printf '{\"loaded\": true}\\n{\"verified\": {\"ca' > \"$5\"; kill -9 $$\n");
  const auto results = runner.Verify({"double@n=1"}, 1, 1);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_TRUE(Contains(results[0].verification.error, "killed by signal 9"));
}

TEST_F(PythonRunnerTest, AnInfiniteErrorIsTheLargestNumber) {
  const PythonRunner runner = Script(
      "echo '{\"loaded\": true}' > \"$5\"\n"
      "echo '{\"verified\": {\"case\": \"double@n=1\", \"draws\": 1, \"draws_passed\": 0, \"max_abs_error\": null, "
      "\"max_error_ratio\": null, \"nonfinite\": 0, \"unwritten\": 0, \"worst\": \"w\", \"error\": \"\"}}' >> \"$5\"\n"
      "echo '{\"done\": true}' >> \"$5\"\n");
  const auto results = runner.Verify({"double@n=1"}, 1, 1);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].verification.max_error_ratio, std::numeric_limits<double>::max());
}

TEST_F(PythonRunnerTest, ANoteTellsThatTwoFilesAreVerifiedInDifferentWays) {
  const PythonDescription base{kCases, "a", 1e-3, 1e-3};
  EXPECT_EQ(ContractNote(base, base), "");
  PythonDescription other = base;
  other.contract = "b";
  EXPECT_TRUE(Contains(ContractNote(base, other), "differ from the base's"));
  EXPECT_FALSE(Contains(ContractNote(base, other), "looser"));
  other.relative_tolerance = 1e-1;
  EXPECT_TRUE(Contains(ContractNote(base, other), "its tolerance is looser: 0.001 + 0.1*|reference|"));
}

}  // namespace
}  // namespace fa_profile::python::python_runner_test
