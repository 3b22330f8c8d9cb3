#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace fa_profile {

/// A new folder for one test. It is removed with everything in it.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// The path of a file in it.
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  /// Writes a file, which a concurrent reader sees whole or not at all; its path.
  std::string Write(const std::string& name, std::string_view bytes) const;

 private:
  std::filesystem::path path_;
};

/// A test with a new folder, folder_.
class FolderTest : public testing::Test {
 private:
  const TestFolder test_folder_;

 protected:
  const std::filesystem::path& folder_ = test_folder_.path();
};

/// The bytes of a file; fails the test and returns "" when the file cannot be read.
std::string ReadFile(const std::filesystem::path& path);

/// Writes a file, replacing any old one; fails the test when it cannot be written.
void WriteFile(const std::filesystem::path& path, std::string_view bytes);

/// A file of this repository.
std::string ReadSourceFile(const std::string& path);

/// Whether `text` contains `part`; for EXPECT_TRUE, which prints both, and for conditions.
testing::AssertionResult Contains(std::string_view text, std::string_view part);

/// Fails when `text` is not the content of the committed file `path` of this repository.
/// With FA_PROFILE_UPDATE_GOLDEN=1 in the environment it writes the file instead; review the change with git diff.
void ExpectGolden(const std::string& path, const std::string& text);

}  // namespace fa_profile
