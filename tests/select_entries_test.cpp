#include "fa_profile/select_entries.h"

#include <gtest/gtest.h>

#include "fa_profile/error.h"
#include "test_files.h"

namespace fa_profile::load::select_entries_test {
namespace {

ProfileEntry Entry(std::int64_t case_id, const std::string& kernel, const std::string& shape) {
  ProfileEntry entry;
  entry.case_id = case_id;
  entry.kernel = kernel;
  if (!shape.empty()) entry.shape = Shape::Parse(shape);
  return entry;
}

Profile Ladder() {
  Profile profile;
  profile.entries = {Entry(1, "mma", "1,8,512,64"), Entry(2, "mma", "1,8,1024,64"), Entry(3, "wmma", "1,8,512,64")};
  profile.losses = {{"a", "mma@1,8,512,64/pv", "", 1}, {"b", "wmma@1,8,512,64", "", 1}, {"c", "all", "", 1}};
  return profile;
}

Profile Program() {
  Profile profile;
  profile.entries = {Entry(1, "gemm", ""), Entry(2, "softmax", "")};
  profile.program.emplace();
  NvtxUse step;
  step.path = "step 3 / attn";
  step.layer = "step * / attn";
  step.kernels.emplace_back().case_id = 2;
  NvtxUse idle;
  idle.path = "idle";
  idle.layer = "idle";
  profile.program->nvtx = {step, idle};
  const auto layer = [](const char* name, std::int64_t case_id) {
    LayerUse use;
    use.layer = name;
    use.case_id = case_id;
    return use;
  };
  profile.program->layers = {layer("step * / attn / out", 2), layer("step * / attention", 2), layer("step * / attn", 2),
                             layer("step * / mlp", 1)};
  return profile;
}

std::string Refusal(Profile profile, const EntrySelection& selection) {
  try {
    (void)SelectEntries("F.fap", selection, profile);
  } catch (const Error& error) {
    return error.message() + " | " + error.hint();
  }
  return "";
}

TEST(SelectEntriesTest, KernelsAndShapesAreSelectedWithTheirLosses) {
  Profile profile = Ladder();
  (void)SelectEntries("F.fap", {.kernel_pattern = "^mma$", .shapes = {Shape::Parse("1,8,512,64")}}, profile);
  ASSERT_EQ(profile.entries.size(), 1U);
  EXPECT_EQ(profile.entries[0].case_id, 1);
  ASSERT_EQ(profile.losses.size(), 2U);
  EXPECT_EQ(profile.losses[0].subject, "mma@1,8,512,64/pv");
  EXPECT_EQ(profile.losses[1].subject, "all");
}

TEST(SelectEntriesTest, WithoutASelectionAllIsKept) {
  Profile profile = Ladder();
  EXPECT_TRUE(SelectEntries("F.fap", {}, profile).empty());
  EXPECT_EQ(profile.entries.size(), 3U);
  EXPECT_EQ(profile.losses.size(), 3U);
}

TEST(SelectEntriesTest, RangesSelectTheirKernelsUnlessAllAreWanted) {
  Profile profile = Program();
  EXPECT_EQ(SelectEntries("F.fap", {.nvtx_pattern = "attn"}, profile), std::set<std::string>{"step 3 / attn"});
  ASSERT_EQ(profile.entries.size(), 1U);
  EXPECT_EQ(profile.entries[0].kernel, "softmax");
  ASSERT_EQ(profile.program->layers.size(), 2U);
  EXPECT_EQ(profile.program->layers[0].layer, "step * / attn / out");
  EXPECT_EQ(profile.program->layers[1].layer, "step * / attn");
  ASSERT_EQ(profile.program->nvtx.size(), 1U);
  EXPECT_EQ(profile.program->nvtx[0].path, "step 3 / attn");
  profile = Program();
  EXPECT_EQ(SelectEntries("F.fap", {.nvtx_pattern = "none", .all_kernels = true}, profile), std::set<std::string>{});
  EXPECT_EQ(profile.entries.size(), 2U);
  EXPECT_EQ(profile.program->nvtx.size(), 2U);
}

TEST(SelectEntriesTest, RangesInAndAroundTheSelectedOnesStay) {
  Profile profile = Program();
  for (const char* const path : {"step 3", "step 3 / attn / out", "step 3 / attention", "step 3 / mlp", "step 33"}) {
    profile.program->nvtx.emplace_back().path = path;
  }
  (void)SelectEntries("F.fap", {.nvtx_pattern = "attn$"}, profile);
  std::vector<std::string> paths;
  for (const NvtxUse& use : profile.program->nvtx) paths.push_back(use.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"step 3 / attn", "step 3", "step 3 / attn / out"}));
}

TEST(SelectEntriesTest, LayersOfOtherKernelsAreLeftOut) {
  Profile profile = Program();
  (void)SelectEntries("F.fap", {.kernel_pattern = "gemm"}, profile);
  ASSERT_EQ(profile.program->layers.size(), 1U);
  EXPECT_EQ(profile.program->layers[0].layer, "step * / mlp");
}

TEST(SelectEntriesTest, WhatMatchesNothingIsAnErrorThatNamesWhatThereIs) {
  EXPECT_EQ(Refusal(Ladder(), {.shapes = {Shape::Parse("2,8,512,64")}}),
            "F.fap has no shape 2,8,512,64 | it has 1,8,1024,64; 1,8,512,64");
  EXPECT_EQ(Refusal(Program(), {.shapes = {Shape::Parse("2,8,512,64")}}),
            "F.fap has no shape 2,8,512,64 | its kernels have no shapes");
  EXPECT_EQ(Refusal(Program(), {.nvtx_pattern = "none"}),
            "F.fap has no NVTX range that matches 'none' | the report without --nvtx lists its ranges");
  EXPECT_TRUE(Contains(Refusal(Program(), {.nvtx_pattern = "idle"}), "F.fap holds no kernels of the NVTX ranges"));
  EXPECT_TRUE(Contains(Refusal(Ladder(), {.nvtx_pattern = "x"}), "it has no NVTX ranges: leave --nvtx out"));
  EXPECT_TRUE(Contains(Refusal(Ladder(), {.kernel_pattern = "scalar"}), "mma"));
}

}  // namespace
}  // namespace fa_profile::load::select_entries_test
