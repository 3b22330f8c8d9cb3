#include "fa_profile/new_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <string>

#include "fa_profile/error.h"
#include "test_files.h"

namespace fa_profile::new_folder_test {
namespace {

namespace fs = std::filesystem;

class NewFolderTest : public FolderTest {};

TEST_F(NewFolderTest, MakesTheFolderAndWritesIntoIt) {
  const NewFolder folder(folder_ / "a" / "b");
  folder.Write("x.txt", "text");
  EXPECT_EQ(ReadFile(folder_ / "a" / "b" / "x.txt"), "text");
}

TEST_F(NewFolderTest, TakesAnEmptyFolder) {
  fs::create_directory(folder_ / "empty");
  NewFolder(folder_ / "empty").Write("x.txt", "text");
  EXPECT_EQ(ReadFile(folder_ / "empty" / "x.txt"), "text");
}

TEST_F(NewFolderTest, RefusesAFolderWithSomethingInIt) {
  WriteFile(folder_ / "x.txt", "mine");
  EXPECT_THROW(NewFolder{folder_}, Error);
  EXPECT_THROW(NewFolder{folder_ / "x.txt"}, Error) << "a file";
  EXPECT_THROW(NewFolder{std::string("/proc/no-such/a")}, Error);
  EXPECT_EQ(ReadFile(folder_ / "x.txt"), "mine");
}

TEST_F(NewFolderTest, WritesOverNothing) {
  const NewFolder folder(folder_ / "new");
  folder.Write("x.txt", "first");
  EXPECT_THROW(folder.Write("x.txt", "second"), Error);
  EXPECT_EQ(ReadFile(folder_ / "new" / "x.txt"), "first");
  fs::create_symlink(folder_ / "outside.txt", folder_ / "new" / "link.txt");
  EXPECT_THROW(folder.Write("link.txt", "through"), Error);
  EXPECT_FALSE(fs::exists(folder_ / "outside.txt"));
}

TEST_F(NewFolderTest, ANameOfAFolderIsRefused) {
  const NewFolder folder(folder_ / "new");
  for (const std::string& name : {std::string("../x"), std::string("/x"), std::string("a/b"), std::string(".."),
                                  std::string("."), std::string(), std::string("a\0b", 3)}) {
    EXPECT_THROW(folder.Write(name, "text"), Error) << name;
  }
  EXPECT_TRUE(fs::is_empty(folder_ / "new"));
}

TEST_F(NewFolderTest, AFolderBesideItsPlaceIsSeenWhenItIsWholeAndElseRemoved) {
  {
    FolderBeside made(folder_ / "whole");
    NewFolder(made.path()).Write("x.txt", "text");
    EXPECT_EQ(made.name(), "whole");
    EXPECT_FALSE(fs::exists(folder_ / "whole"));
    made.PutInPlace();
    EXPECT_EQ(ReadFile(folder_ / "whole" / "x.txt"), "text");
  }
  { const FolderBeside given_up(folder_ / "never"); }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1)
      << "only the whole one is left";
}

TEST_F(NewFolderTest, AFolderTakesThePlaceOfAnEmptyOneAndOfNothingElse) {
  fs::create_directory(folder_ / "empty");
  FolderBeside(folder_ / "empty").PutInPlace();
  WriteFile(folder_ / "mine.txt", "mine");
  EXPECT_THROW(FolderBeside{folder_ / "mine.txt"}, Error);
  EXPECT_THROW(FolderBeside{folder_}, Error) << "it holds something";
  EXPECT_THROW(FolderBeside{std::string("/")}, Error);
}

}  // namespace
}  // namespace fa_profile::new_folder_test
