#include "fa_profile/own_stdout.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "run_program.h"
#include "test_files.h"

namespace fa_profile::own_stdout_test {
namespace {

// Runs `body` in a child process, with stdout and stderr in files.
template <typename Body>
Outcome InChild(const Body& body) {
  const TestFolder folder;
  const auto run = [&] {
    if (std::freopen((folder / "out").c_str(), "w", stdout) == nullptr) std::exit(3);
    if (std::freopen((folder / "err").c_str(), "w", stderr) == nullptr) std::exit(3);
    body();
    std::exit(0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
  return {0, ReadFile(folder / "out"), ReadFile(folder / "err")};
}

TEST(OwnStdoutDeathTest, WhatOthersPrintGoesToStderrAndOnlyOursToStdout) {
  const Outcome outcome = InChild([] {
    std::printf("before;");
    {
      const OwnStdout own;
      std::printf("a library without a newline");
      own.Write("ours;");
      if (std::system("printf ' and its child'; printf leak >&100") == 0) own.Write("leaked;");
    }
    std::printf("after");
  });
  EXPECT_EQ(outcome.out, "before;ours;after");
  EXPECT_TRUE(Contains(outcome.err, "a library without a newline")) << outcome.err;
  EXPECT_TRUE(Contains(outcome.err, " and its child")) << outcome.err;
}

TEST(OwnStdoutDeathTest, AClosedStdoutIsAnErrorWithAHint) {
  const auto run = [] {
    close(STDOUT_FILENO);
    try {
      const OwnStdout own;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s", error.what());
      std::exit(0);
    }
    std::exit(1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "hint: run it with standard output");
}

}  // namespace
}  // namespace fa_profile::own_stdout_test
