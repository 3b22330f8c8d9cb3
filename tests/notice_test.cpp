#include "fa_profile/notice.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <string>

namespace fa_profile {
namespace {

// What a notice writes to descriptor 2 while that is `file`.
void NoticeWith(int file) {
  const int kept = dup(STDERR_FILENO);
  ASSERT_GE(dup2(file, STDERR_FILENO), 0);
  Notice("something");
  ASSERT_GE(dup2(kept, STDERR_FILENO), 0);
  close(kept);
}

TEST(NoticeTest, APipeThatGotTheNumberOfStderrReceivesNothing) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(pipe2(pipe.data(), O_NONBLOCK | O_CLOEXEC), 0);
  NoticeWith(pipe[1]);
  std::array<char, 8> read_back{};
  EXPECT_EQ(read(pipe[0], read_back.data(), read_back.size()), -1) << "the driver's threads would read it";
  close(pipe[0]);
  close(pipe[1]);
}

TEST(NoticeTest, AFileReceivesTheText) {
  const int file = memfd_create("stderr", MFD_CLOEXEC);
  ASSERT_GE(file, 0);
  NoticeWith(file);
  std::string text(64, ' ');
  text.resize(static_cast<std::size_t>(pread(file, text.data(), text.size(), 0)));
  EXPECT_EQ(text, "fa-profile: something\n");
  close(file);
}

TEST(NoticeTest, WithStderrClosedNothingHappens) {
  const int kept = dup(STDERR_FILENO);
  close(STDERR_FILENO);
  Notice("something");
  ASSERT_GE(dup2(kept, STDERR_FILENO), 0);
  close(kept);
}

}  // namespace
}  // namespace fa_profile
