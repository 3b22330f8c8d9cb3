#include "fa_profile/source_text.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "test_files.h"

namespace fa_profile::load::source_text_test {
namespace {

constexpr const char* kLongAgo = "2001-01-01T00:00:00Z";
constexpr const char* kNextCentury = "2101-01-01T00:00:00Z";

class SourceTextTest : public FolderTest {};

TEST_F(SourceTextTest, LinesAreThereWithoutTheirEnds) {
  WriteFile(folder_ / "a.cu", "one\r\n\ntwo");
  const SourceText source = ReadSource(folder_ / "a.cu", kNextCentury, folder_);
  EXPECT_EQ(source.unread, "");
  EXPECT_EQ(source.lines, (std::vector<std::string>{"one", "", "two"}));
  EXPECT_FALSE(source.changed);
}

TEST_F(SourceTextTest, AFileThatChangedAfterTheRecordingIsMarked) {
  WriteFile(folder_ / "a.cu", "one");
  EXPECT_TRUE(ReadSource(folder_ / "a.cu", kLongAgo, folder_).changed);
  EXPECT_FALSE(ReadSource(folder_ / "a.cu", "yesterday", folder_).changed)
      << "no one knows when the recording was made";
}

TEST_F(SourceTextTest, WhatCannotBeReadSaysWhy) {
  EXPECT_TRUE(Contains(ReadSource(folder_ / "missing.cu", kLongAgo, folder_).unread, "cannot be read"));
  ASSERT_EQ(mkfifo((folder_ / "pipe.cu").c_str(), 0600), 0);
  EXPECT_TRUE(Contains(ReadSource(folder_ / "pipe.cu", kLongAgo, folder_).unread, "not a regular file"));
  EXPECT_TRUE(Contains(ReadSource(folder_, kLongAgo, folder_).unread, "not that of a source file"));
}

// A recording from outside must not make the report print the user's secrets.
TEST_F(SourceTextTest, OnlyFilesWithNamesOfSourcesAreOpened) {
  WriteFile(folder_ / "id_rsa", "secret");
  WriteFile(folder_ / "secret", "secret");
  for (const std::string& name : {std::string(folder_ / "id_rsa"), std::string("/etc/passwd"),
                                  std::string(folder_ / "secret") + std::string("\0.cu", 4), std::string()}) {
    const SourceText source = ReadSource(name, kLongAgo, folder_);
    EXPECT_TRUE(source.lines.empty()) << name;
    EXPECT_NE(source.unread, "") << name;
  }
}

TEST_F(SourceTextTest, OnlyFilesBelowTheRootAreOpenedWhereverLinksLead) {
  std::filesystem::create_directories(folder_ / "root");
  std::filesystem::create_directories(folder_ / "root2");
  WriteFile(folder_ / "settings.py", "secret");
  WriteFile(folder_ / "root2" / "settings.py", "secret");
  WriteFile(folder_ / "root" / "a.cu", "mine");
  std::filesystem::create_symlink(folder_ / "settings.py", folder_ / "root" / "link.py");
  std::filesystem::create_symlink(folder_, folder_ / "root" / "up");
  std::filesystem::create_symlink("a.cu", folder_ / "root" / "b.cu");
  const std::string root = folder_ / "root";
  for (const std::string& name :
       {std::string(folder_ / "settings.py"), std::string(folder_ / "root2" / "settings.py"), root + "/../settings.py",
        root + "/link.py", root + "/up/settings.py", std::string("../settings.py"), std::string("link.py")}) {
    const SourceText source = ReadSource(name, kLongAgo, root);
    EXPECT_TRUE(source.lines.empty() && source.outside) << name;
    EXPECT_TRUE(Contains(source.unread, "--source-root")) << name;
  }
  for (const std::string& name : {root + "/a.cu", root + "/up/root/b.cu", std::string("a.cu")}) {
    EXPECT_EQ(ReadSource(name, kLongAgo, root).lines, (std::vector<std::string>{"mine"})) << name;
  }
  EXPECT_FALSE(ReadSource(folder_ / "settings.py", kLongAgo, "/").outside);
}

TEST_F(SourceTextTest, ListedLinesGetTheirText) {
  WriteFile(folder_ / "a.cu", "one\ntwo\n");
  SourceListing listing;
  for (const int line : {2, 3, 0, -7}) {
    ListedLine listed;
    listed.file = folder_ / "a.cu";
    listed.line = line;
    listing.lines.push_back(listed);
  }
  listing.lines.emplace_back().file = folder_ / "missing.cu";
  std::vector<SourceListing> listings{listing};
  EXPECT_TRUE(AddSourceText(listings, kLongAgo, folder_).empty());
  EXPECT_EQ(listings[0].lines[0].text, "two");
  for (std::size_t i = 1; i < listings[0].lines.size(); ++i) EXPECT_EQ(listings[0].lines[i].text, std::nullopt) << i;
  EXPECT_EQ(listings[0].changed_files, (std::vector<std::string>{folder_ / "a.cu"}));
  EXPECT_EQ(listings[0].read_files, listings[0].changed_files);
  EXPECT_EQ(AddSourceText(listings, kLongAgo, "/proc"), (std::vector<std::string>{folder_ / "a.cu"}));
}

}  // namespace
}  // namespace fa_profile::load::source_text_test
