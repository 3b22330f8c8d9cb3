#include "fa_profile/source_text.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "fa_profile/sha256.h"
#include "test_files.h"

namespace fa_profile::load::source_text_test {
namespace {

constexpr const char* kLongAgo = "2001-01-01T00:00:00Z";
constexpr const char* kNextCentury = "2101-01-01T00:00:00Z";

class SourceTextTest : public FolderTest {
 protected:
  static SourceSearch In(const std::string& root, const std::string& recorded_at = kLongAgo) {
    return {root, {}, recorded_at, {}};
  }
};

TEST_F(SourceTextTest, LinesAreThereWithoutTheirEnds) {
  WriteFile(folder_ / "a.cu", "one\r\n\ntwo");
  const SourceText source = ReadSource(folder_ / "a.cu", In(folder_, kNextCentury));
  EXPECT_EQ(source.unread, "");
  EXPECT_EQ(source.lines, (std::vector<std::string>{"one", "", "two"}));
  EXPECT_FALSE(source.changed);
}

TEST_F(SourceTextTest, AFileThatChangedAfterTheRecordingIsMarked) {
  WriteFile(folder_ / "a.cu", "one");
  EXPECT_TRUE(ReadSource(folder_ / "a.cu", In(folder_, kLongAgo)).changed);
  EXPECT_FALSE(ReadSource(folder_ / "a.cu", In(folder_, "yesterday")).changed)
      << "no one knows when the recording was made";
}

TEST_F(SourceTextTest, WhatCannotBeReadSaysWhy) {
  EXPECT_TRUE(Contains(ReadSource(folder_ / "missing.cu", In(folder_, kLongAgo)).unread, "cannot be read"));
  ASSERT_EQ(mkfifo((folder_ / "pipe.cu").c_str(), 0600), 0);
  EXPECT_TRUE(Contains(ReadSource(folder_ / "pipe.cu", In(folder_, kLongAgo)).unread, "not a regular file"));
  EXPECT_TRUE(Contains(ReadSource(folder_, In(folder_, kLongAgo)).unread, "not that of a source file"));
}

// A recording from outside must not make the report print the user's secrets.
TEST_F(SourceTextTest, OnlyFilesWithNamesOfSourcesAreOpened) {
  WriteFile(folder_ / "id_rsa", "secret");
  WriteFile(folder_ / "secret", "secret");
  for (const std::string& name : {std::string(folder_ / "id_rsa"), std::string("/etc/passwd"),
                                  std::string(folder_ / "secret") + std::string("\0.cu", 4), std::string()}) {
    const SourceText source = ReadSource(name, In(folder_, kLongAgo));
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
    const SourceText source = ReadSource(name, In(root, kLongAgo));
    EXPECT_TRUE(source.lines.empty() && source.outside) << name;
    EXPECT_TRUE(Contains(source.unread, "--source-root")) << name;
  }
  for (const std::string& name : {root + "/a.cu", root + "/up/root/b.cu", std::string("a.cu")}) {
    EXPECT_EQ(ReadSource(name, In(root, kLongAgo)).lines, (std::vector<std::string>{"mine"})) << name;
  }
  EXPECT_FALSE(ReadSource(folder_ / "settings.py", In("/", kLongAgo)).outside);
}

TEST_F(SourceTextTest, WhatWasRecordedIsFoundByTheEndOfItsPath) {
  std::filesystem::create_directories(folder_ / "kernels");
  WriteFile(folder_ / "kernels" / "a.cu", "mine");
  SourceSearch search = In(folder_);
  EXPECT_NE(ReadSource("/build/kernels/a.cu", search).unread, "") << "without a hash, another file of that name";
  search.sha256["/build/kernels/a.cu"] = Sha256("mine");
  EXPECT_EQ(ReadSource("/build/kernels/a.cu", search).lines, (std::vector<std::string>{"mine"}));
  EXPECT_FALSE(ReadSource("/build/kernels/a.cu", search).changed) << "its time does not matter";
  search.root = folder_ / "kernels";
  search.sha256["kernels/a.cu"] = Sha256("mine");
  EXPECT_EQ(ReadSource("kernels/a.cu", search).lines, (std::vector<std::string>{"mine"}));
}

TEST_F(SourceTextTest, AnotherContentThanTheRecordedOneIsNotShown) {
  WriteFile(folder_ / "a.cu", "edited");
  SourceSearch search = In(folder_, kNextCentury);
  search.sha256["x/a.cu"] = search.sha256["a.cu"] = Sha256("recorded");
  for (const char* const file : {"a.cu", "x/a.cu"}) {
    const SourceText source = ReadSource(file, search);
    EXPECT_TRUE(source.lines.empty());
    EXPECT_TRUE(source.differs);
    EXPECT_TRUE(Contains(source.unread, "not what was recorded"));
  }
  SourceListing listing;
  listing.lines.emplace_back().file = "a.cu";
  listing.lines.back().line = 1;
  std::vector<SourceListing> listings{listing};
  EXPECT_EQ(AddSourceText(listings, search).differ, (std::vector<std::string>{"a.cu"}));
  EXPECT_EQ(listings[0].lines[0].text, std::nullopt);
  EXPECT_TRUE(listings[0].read_files.empty());
}

TEST_F(SourceTextTest, AFolderThatMovedIsReadWhereItIsNow) {
  std::filesystem::create_directories(folder_ / "new" / "k");
  std::filesystem::create_directories(folder_ / "elsewhere");
  WriteFile(folder_ / "new" / "k" / "a.cu", "mine");
  WriteFile(folder_ / "secret.py", "secret");
  SourceSearch search = In(folder_ / "elsewhere");
  search.moved = {{"/build", folder_ / "new"}};
  EXPECT_EQ(ReadSource("/build/k/a.cu", search).lines, (std::vector<std::string>{"mine"}));
  EXPECT_NE(ReadSource("/buildings/k/a.cu", search).unread, "");
  EXPECT_TRUE(ReadSource("/build/../secret.py", search).outside) << "nothing above it is read";
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
  EXPECT_TRUE(AddSourceText(listings, In(folder_)).outside.empty());
  EXPECT_EQ(listings[0].lines[0].text, "two");
  for (std::size_t i = 1; i < listings[0].lines.size(); ++i) EXPECT_EQ(listings[0].lines[i].text, std::nullopt) << i;
  EXPECT_EQ(listings[0].changed_files, (std::vector<std::string>{folder_ / "a.cu"}));
  EXPECT_EQ(listings[0].read_files, listings[0].changed_files);
  EXPECT_EQ(AddSourceText(listings, In("/proc")).outside, (std::vector<std::string>{folder_ / "a.cu"}));
}

}  // namespace
}  // namespace fa_profile::load::source_text_test
