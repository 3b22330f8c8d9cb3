#include "fa_profile/output_path.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "fa_profile/error.h"
#include "test_files.h"

namespace fa_profile::output_path_test {
namespace {

class OutputPathTest : public FolderTest {
 protected:
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  template <typename Check>
  static std::string RefusalBy(Check check) {
    try {
      check();
    } catch (const Error& error) {
      EXPECT_FALSE(error.hint().empty());
      return error.message() + " | " + error.hint();
    }
    return "";
  }
  static std::string Refusal(const std::string& path) {
    return RefusalBy([&] { CheckOutputPath(path); });
  }
};

TEST_F(OutputPathTest, APathThatCannotBeWrittenIsNamedWithItsCure) {
  WriteFile(folder_ / "file", "");
  EXPECT_EQ(Refusal(Path("new")), "");
  EXPECT_EQ(Refusal(Path("file")), "");
  EXPECT_EQ(Refusal("/dev/null"), "");
  const std::string named = Path("a b/x") + " cannot be written: folder " + Path("a b") + " not found | make it: ";
  EXPECT_EQ(Refusal(Path("a b/x")), named + "mkdir -p '" + Path("a b") + "'");
  EXPECT_TRUE(Contains(Refusal(Path(std::string(300, 'n'))), "its name is too long | give a shorter name"));
  EXPECT_TRUE(Contains(Refusal(Path("file/x")), "/file is not a folder | "));
  EXPECT_TRUE(Contains(Refusal(folder_.string()), "it is a directory | give the path of a file in it"));
  EXPECT_TRUE(Contains(Refusal(Path("none/")), "it names no file"));
  EXPECT_TRUE(Contains(Refusal("-"), "- cannot be written: it means stdout, and a file is needed here | "));
  std::filesystem::create_symlink("loop", folder_ / "loop");
  EXPECT_TRUE(Contains(Refusal(Path("loop")), "it is a symbolic link that leads back to itself | remove it: rm "));
}

TEST_F(OutputPathTest, AFolderThatIsMadeLaterMayBeMissing) {
  WriteFile(folder_ / "file", "");
  EXPECT_EQ(RefusalBy([&] { CheckOutputPath(Path("a/b/x"), OutputFolder::kIsMade); }), "");
  EXPECT_TRUE(
      Contains(RefusalBy([&] { CheckOutputPath(Path("file/b/x"), OutputFolder::kIsMade); }), "cannot be written"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a"));
}

TEST_F(OutputPathTest, AnOutputIsNeitherAnotherNorAnInput) {
  WriteFile(folder_ / "in", "");
  const auto refusal = [&](const std::string& one, const std::string& other) {
    return RefusalBy([&] { CheckOutputFiles({{"--one", one}, {"--other", other}}, {Path("in")}); });
  };
  EXPECT_EQ(refusal(Path("x"), Path("y")), "");
  EXPECT_EQ(refusal("-", ""), "");
  EXPECT_EQ(refusal("/dev/null", "/dev/null"), "");
  EXPECT_EQ(refusal(Path("x"), Path("./x")),
            "--one and --other are the same file, " + Path("./x") + " | give them different files");
  std::filesystem::create_hard_link(folder_ / "in", folder_ / "again");
  EXPECT_TRUE(Contains(refusal("", Path("again")), "is an input of this command | write to another file"));
}

TEST_F(OutputPathTest, AReportReplacesNeitherARecordingNorAProgram) {
  WriteFile(folder_ / "run.fap", std::string("SQLite format 3\0...", 20));
  WriteFile(folder_ / "lib.so",
            "\x7f"
            "ELF...");
  WriteFile(folder_ / "old.html", "<html>");
  std::filesystem::create_symlink(folder_ / "run.fap", folder_ / "link");
  const auto refusal = [&](const std::string& path) {
    return RefusalBy([&] { CheckReportFiles({{"--html", path}}); });
  };
  EXPECT_EQ(refusal(Path("run.fap")),
            "--html " + Path("run.fap") + " would replace a recording or another database | write to another file");
  EXPECT_TRUE(Contains(refusal(Path("lib.so")), "would replace a program or a library"));
  for (const std::string& path : {Path("old.html"), Path("new.html"), Path("link"), std::string("-")}) {
    EXPECT_EQ(refusal(path), "");
  }
}

TEST_F(OutputPathTest, AWordForAShellIsQuotedOnlyWhereItMustBe) {
  EXPECT_EQ(ShellWord("a/b-c_1.so"), "a/b-c_1.so");
  EXPECT_EQ(ShellWord("a b'c"), "'a b'\\''c'");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(ShellWord("~"), "'~'");
}

}  // namespace
}  // namespace fa_profile::output_path_test
