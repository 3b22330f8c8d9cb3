#include "fa_profile/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <string>

#include "fa_profile/error.h"
#include "test_files.h"

namespace fa_profile::files_test {
namespace {

constexpr std::size_t kMost = 1 << 20;

class FilesTest : public FolderTest {
 protected:
  std::string Path(const std::string& name) const { return folder_ / name; }

  static std::string Refusal(const std::string& path, std::size_t most = kMost) {
    try {
      (void)ReadFile(path, most);
    } catch (const Error& error) {
      EXPECT_FALSE(error.hint().empty());
      return error.message();
    }
    return "was read";
  }
};

TEST_F(FilesTest, WhatIsNotARegularFileIsRefusedWithoutWaitingForIt) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("pipe", Path("link"));
  EXPECT_EQ(Refusal(Path("pipe")), Path("pipe") + " is not a regular file");
  EXPECT_EQ(Refusal(Path("link")), Path("link") + " is not a regular file");
  EXPECT_EQ(Refusal("/dev/zero"), "/dev/zero is not a regular file");
  EXPECT_EQ(Refusal(folder_), folder_.string() + " is a directory");
  EXPECT_EQ(Refusal(Path("none")), Path("none") + " cannot be read: No such file or directory");
  EXPECT_THROW((void)OpenFile(Path("pipe")), Error);
}

TEST_F(FilesTest, APipeThatNobodyReadsIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_THROW(WriteWholeFile(Path("pipe"), "text"), Error);
  const Descriptor reader(open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  WriteWholeFile(Path("pipe"), "text");
  std::array<char, 8> got{};
  EXPECT_EQ(ReadSome(reader.get(), "pipe", got), 4U);
}

TEST_F(FilesTest, AFileOverItsLimitIsRefusedUnreadAndTheLimitIsNamed) {
  WriteFile(Path("sparse"), "");
  std::filesystem::resize_file(Path("sparse"), std::uintmax_t{8} << 30U);
  EXPECT_EQ(Refusal(Path("sparse")), Path("sparse") + " is larger than 1 MiB");
  EXPECT_EQ(Refusal(Path("sparse"), 4096), Path("sparse") + " is larger than 4096 bytes");
  WriteFile(Path("full"), std::string(kMost, 'x'));
  EXPECT_EQ(ReadFile(Path("full"), kMost).size(), kMost);
}

TEST_F(FilesTest, AFileThatClaimsNoBytesIsReadToItsEndAndHasTheSameLimit) {
  const std::string path = "/proc/self/environ";
  ASSERT_EQ(std::filesystem::file_size(path), 0U);
  EXPECT_EQ(ReadFile(path, kMost), fa_profile::ReadFile(std::filesystem::path(path)));
  EXPECT_FALSE(ReadFile("/proc/self/maps", kMost).empty());
  EXPECT_EQ(Refusal("/proc/self/maps", 10), "/proc/self/maps is larger than 10 bytes");
}

}  // namespace
}  // namespace fa_profile::files_test
