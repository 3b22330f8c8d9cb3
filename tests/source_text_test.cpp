#include "fa_profile/source_text.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "test_files.h"

namespace fa_profile::load::source_text_test {
namespace {

constexpr const char* kLongAgo = "2001-01-01T00:00:00Z";
constexpr const char* kNextCentury = "2101-01-01T00:00:00Z";

class SourceTextTest : public FolderTest {};

TEST_F(SourceTextTest, LinesAreThereWithoutTheirEnds) {
  WriteFile(folder_ / "a.cu", "one\r\n\ntwo");
  const SourceText source = ReadSource(folder_ / "a.cu", kNextCentury);
  EXPECT_EQ(source.unread, "");
  EXPECT_EQ(source.lines, (std::vector<std::string>{"one", "", "two"}));
  EXPECT_FALSE(source.changed);
}

TEST_F(SourceTextTest, AFileThatChangedAfterTheRecordingIsMarked) {
  WriteFile(folder_ / "a.cu", "one");
  EXPECT_TRUE(ReadSource(folder_ / "a.cu", kLongAgo).changed);
  EXPECT_FALSE(ReadSource(folder_ / "a.cu", "yesterday").changed) << "no one knows when the recording was made";
}

TEST_F(SourceTextTest, WhatCannotBeReadSaysWhy) {
  EXPECT_TRUE(Contains(ReadSource(folder_ / "missing.cu", kLongAgo).unread, "cannot be read"));
  ASSERT_EQ(mkfifo((folder_ / "pipe.cu").c_str(), 0600), 0);
  EXPECT_TRUE(Contains(ReadSource(folder_ / "pipe.cu", kLongAgo).unread, "not a regular file"));
  EXPECT_TRUE(Contains(ReadSource(folder_, kLongAgo).unread, "not that of a source file"));
}

// A recording from outside must not make the report print the user's secrets.
TEST_F(SourceTextTest, OnlyFilesWithNamesOfSourcesAreOpened) {
  WriteFile(folder_ / "id_rsa", "secret");
  WriteFile(folder_ / "secret", "secret");
  for (const std::string& name : {std::string(folder_ / "id_rsa"), std::string("/etc/passwd"),
                                  std::string(folder_ / "secret") + std::string("\0.cu", 4), std::string()}) {
    const SourceText source = ReadSource(name, kLongAgo);
    EXPECT_TRUE(source.lines.empty()) << name;
    EXPECT_NE(source.unread, "") << name;
  }
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
  AddSourceText(listings, kLongAgo);
  EXPECT_EQ(listings[0].lines[0].text, "two");
  for (std::size_t i = 1; i < listings[0].lines.size(); ++i) EXPECT_EQ(listings[0].lines[i].text, std::nullopt) << i;
  EXPECT_EQ(listings[0].changed_files, (std::vector<std::string>{folder_ / "a.cu"}));
}

}  // namespace
}  // namespace fa_profile::load::source_text_test
