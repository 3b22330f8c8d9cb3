#include "child_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "fa_profile/error.h"

namespace fa_profile {
namespace {

int ExitCode(const std::string& script) {
  const int status = WaitForChild(StartChild("sh", {"sh", "-c", script}));
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// The message of the error that starting `program` ends with.
std::string Refusal(const std::string& program) {
  try {
    WaitForChild(StartChild(program, {program}));
  } catch (const Error& error) {
    EXPECT_FALSE(error.hint().empty());
    return error.message();
  }
  return {};
}

TEST(ChildProcessTest, EveryExitCodeIsTheProgramsOwn) {
  for (const int code : {0, 1, 126, 127, 255}) EXPECT_EQ(ExitCode("exit " + std::to_string(code)), code);
  EXPECT_EQ(ExitCode("kill -SEGV $$"), -SIGSEGV);
}

TEST(ChildProcessTest, WhatCannotBeStartedIsAnErrorWithTheReason) {
  const std::filesystem::path text =
      std::filesystem::temp_directory_path() / ("no-program-" + std::to_string(getpid()));
  std::ofstream(text) << "this is no program\n";
  EXPECT_EQ(Refusal("/no/such/program"), "the program /no/such/program cannot be started: No such file or directory");
  EXPECT_NE(Refusal("no-such-program-on-path").find("No such file"), std::string::npos);
  EXPECT_NE(Refusal(text).find("Permission denied"), std::string::npos);
  std::filesystem::permissions(text, std::filesystem::perms::owner_all);
  EXPECT_NE(Refusal(text).find("Exec format error"), std::string::npos);
  EXPECT_NE(Refusal(std::filesystem::temp_directory_path()).find("Permission denied"), std::string::npos);
  EXPECT_THROW((void)CaptureChild("/no/such/program", {"program"}), Error);
  std::filesystem::remove(text);
}

TEST(ChildProcessTest, CaptureGivesWhatTheChildWroteToStdoutAndHowItEnded) {
  const ChildOutput output = CaptureChild("sh", {"sh", "-c", "echo \"$0 $1\"; echo unseen >&2; exit 3", "a b", "c"});
  EXPECT_EQ(output.text, "a b c\n");
  EXPECT_EQ(WEXITSTATUS(output.status), 3);
}

TEST(ChildProcessTest, CaptureReadsToTheEndAndKeepsAMebibyte) {
  const ChildOutput output = CaptureChild("head", {"head", "-c", "3000000", "/dev/zero"});
  EXPECT_TRUE(WIFEXITED(output.status)) << "a reader that stops would end it with SIGPIPE";
  EXPECT_EQ(WEXITSTATUS(output.status), 0);
  EXPECT_GE(output.text.size(), 1U << 20);
  EXPECT_LT(output.text.size(), (1U << 20) + 4096);
}

}  // namespace
}  // namespace fa_profile
