#include "fa_profile/descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

namespace fa_profile {
namespace {

// In a child, whose limit and files are its own: what HasDescriptorsLeft(64) returns after `opened` files.
bool HasWithLimit(int limit, int opened) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit both{static_cast<rlim_t>(limit), static_cast<rlim_t>(limit)};
    setrlimit(RLIMIT_NOFILE, &both);
    for (int i = 0; i < opened && open("/dev/null", O_RDONLY) >= 0; ++i) {
    }
    const bool has = HasDescriptorsLeft(64);
    const int next = open("/dev/null", O_RDONLY);
    const int again = next < 0 ? -1 : (close(next), open("/dev/null", O_RDONLY));
    _exit(next != again ? 2 : has ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_NE(WEXITSTATUS(status), 2) << "it keeps a number";
  return WEXITSTATUS(status) == 1;
}

TEST(DescriptorTest, LeftAreThoseBelowTheLimitThatAreFree) {
  EXPECT_TRUE(HasWithLimit(512, 0));
  EXPECT_TRUE(HasWithLimit(512, 300));
  EXPECT_FALSE(HasWithLimit(512, 480));
  EXPECT_FALSE(HasWithLimit(512, 512));
  EXPECT_TRUE(HasWithLimit(100, 0)) << "of few, half";
  EXPECT_FALSE(HasWithLimit(100, 90));
}

}  // namespace
}  // namespace fa_profile
