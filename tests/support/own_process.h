#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

namespace fa_profile {

/// Runs the body in a child process: what it changes in the process for good does not reach other cases.
template <typename Body>
void InAProcessOfItsOwn(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    std::fflush(stdout);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  (void)waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace fa_profile
