// Refusals that follow from the jobs that options are for, on a command line that is not fa-profile's.
#include "fa_profile/option_jobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "fa_profile/add_option.h"

namespace fa_profile::help::option_jobs_test {
namespace {

enum PaintJob : Jobs { kWall = 1, kDoor = 2, kFence = 4 };

class OptionJobsTest : public testing::Test {
 protected:
  OptionJobsTest() {
    rows_.For(kWall | kDoor | kFence, app_.add_option("-c,--colour", colour_, ""));
    rows_.For(kDoor, app_.add_flag("--handle", handle_, ""));
    rows_.For(kWall | kDoor, AddChoice(app_, "--tool", tool_, "", {"brush", "roller", "sponge"}), "wood takes none");
    rows_.For(kFence, app_.add_flag("--hidden", hidden_, "")->group(""));
    rows_.ForValue(kWall | kDoor, {"--tool", "brush"});
    rows_.ForValue(kWall, {"--tool", "roller"}, "it is too wide");
    rows_.ForValue(kDoor, {"--tool", "sponge"});
    rows_.Exclude({.option = {"--handle"}, .with = {"--tool", "sponge"}, .why = "it drips", .jobs = kDoor});
  }

  /// The error for these words in this job, and its hint; empty: there is none.
  std::string Refusal(Jobs job, std::vector<std::string> words) {
    std::ranges::reverse(words);
    app_.parse(words);
    try {
      rows_.Check(job);
    } catch (const Error& refused) {
      return refused.message() + " | " + refused.hint();
    }
    return "";
  }

  CLI::App app_{"my-tool: paints"};
  std::string colour_;
  bool handle_ = false;
  bool hidden_ = false;
  std::string tool_ = "brush";
  OptionJobs rows_{app_,
                   {{.bit = kWall, .name = "a wall"},
                    {.bit = kDoor, .name = "a door", .request = "open it", .refusal = " has no effect on a door"},
                    {.bit = kFence,
                     .name = "a fence",
                     .request = "build it",
                     .refusal = " has no effect on a fence",
                     .cure = "fences are brushed"}}};
};

TEST_F(OptionJobsTest, AnOptionOfTheJobIsTaken) {
  EXPECT_EQ(Refusal(kWall, {"--colour", "red", "--tool", "roller"}), "");
  EXPECT_EQ(Refusal(kDoor, {"-c", "red", "--handle"}), "");
  EXPECT_EQ(Refusal(kFence, {}), "") << "a default is not given";
}

TEST_F(OptionJobsTest, TheJobThatNeedsNoRequestNamesTheJobsOfTheOption) {
  EXPECT_EQ(Refusal(kWall, {"--handle"}), "--handle applies only to a door | open it, or leave it out");
  EXPECT_EQ(Refusal(kWall, {"--tool", "sponge"}),
            "--tool sponge applies only to a door | open it, or use brush or roller");
  EXPECT_EQ(Refusal(kWall, {"--hidden"}), "--hidden applies only to a fence | build it, or leave it out");
}

TEST_F(OptionJobsTest, AnotherJobIsNamedWithItsCure) {
  EXPECT_EQ(Refusal(kFence, {"--handle"}), "--handle has no effect on a fence | leave it out; fences are brushed");
  EXPECT_EQ(Refusal(kFence, {"--tool", "brush"}),
            "--tool has no effect on a fence: wood takes none | leave it out; fences are brushed");
}

TEST_F(OptionJobsTest, WithoutACureTheRefusalNamesTheJobsOfTheOption) {
  EXPECT_EQ(Refusal(kDoor, {"--tool", "roller"}),
            "--tool roller has no effect on a door: it is too wide | use brush or sponge");
  rows_.For(kWall | kFence, app_.add_flag("--twice", handle_, ""));
  EXPECT_EQ(Refusal(kDoor, {"--twice"}),
            "--twice has no effect on a door | leave it out; it is an option of a wall or a fence");
}

TEST_F(OptionJobsTest, OptionsThatExcludeEachOtherAreRefusedInTheirJobs) {
  EXPECT_EQ(Refusal(kDoor, {"--handle", "--tool", "sponge"}),
            "--handle has no effect with --tool sponge: it drips | leave one of them out");
  EXPECT_EQ(Refusal(kDoor, {"--handle", "--tool", "brush"}), "");
}

TEST_F(OptionJobsTest, AJobListsItsOptions) {
  EXPECT_EQ(rows_.ListedFor(kDoor), "--colour, --handle or --tool");
  EXPECT_EQ(rows_.ListedFor(kFence), "--colour or --hidden");
}

TEST_F(OptionJobsTest, AnOptionWithoutARowIsAMistakeOfTheProgram) {
  app_.add_flag("--twice", handle_, "");
  EXPECT_THROW(rows_.Check(kWall), std::logic_error);
}

}  // namespace
}  // namespace fa_profile::help::option_jobs_test
