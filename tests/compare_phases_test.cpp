#include "fa_profile/compare_phases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "attention_code.h"
#include "device_code.h"
#include "sample_recording.h"

namespace fa_profile::analyze::compare_phases_test {
namespace {

ProfileEntry Mma() {
  ProfileEntry entry;
  entry.kernel = "mma";
  entry.case_id = 1;
  return entry;
}

// Named and inferred phases by instruction; nothing else of the code matters.
DeviceFunction Named(const std::vector<std::string>& phases) {
  DeviceFunction function;
  std::uint32_t offset = 0;
  for (const std::string& phase : phases) {
    Instruction instruction{offset, "", "FADD", "R0, R0, R0", {}};
    if (!phase.empty()) instruction.frames = {{phase, "a.cu", 1}};
    function.instructions.push_back(instruction);
    offset += 16;
  }
  return function;
}

InferredPhases Inferred(const std::vector<std::string_view>& phases) {
  InferredPhases inferred;
  for (const std::string_view phase : phases) {
    inferred.instructions.push_back({phase, InferenceGrade::kDirect, "product"});
  }
  return inferred;
}

TEST(ComparePhasesTest, WhatIsNamedOneWayAndInferredAnotherIsAnError) {
  const PhaseConfusion confusion =
      CompareWithNames(Named({"qk", "qk", "softmax", "pv", ""}), Inferred({"qk", "softmax", "softmax", "pv", "setup"}),
                       {60.0, 10.0, 20.0, 10.0, 100.0});
  EXPECT_DOUBLE_EQ(confusion.All(), 100.0);
  EXPECT_DOUBLE_EQ(confusion.unnamed, 100.0);
  EXPECT_DOUBLE_EQ(confusion.SameRatio(), 0.9);
  EXPECT_DOUBLE_EQ(confusion.Ratio("qk", "softmax"), 0.1);
  EXPECT_DOUBLE_EQ(confusion.NamedRatio("qk"), 0.7);
  EXPECT_DOUBLE_EQ(confusion.InferredRatio("qk"), 0.6);
  const auto [phase, error] = confusion.LargestError();
  EXPECT_EQ(phase, "qk");
  EXPECT_NEAR(error, 0.1, 1e-12);
}

TEST(ComparePhasesTest, BarriersAndPaddingDoNotCount) {
  DeviceFunction function = Named({"qk", "sync", "sync"});
  function.instructions[1].opcode = "BAR.SYNC.DEFER_BLOCKING";
  function.instructions[2].opcode = "NOP";
  const PhaseConfusion confusion = CompareWithNames(function, Inferred({"qk", "pv", "pv"}), {1.0, 5.0, 5.0});
  EXPECT_DOUBLE_EQ(confusion.All(), 1.0);
  EXPECT_DOUBLE_EQ(confusion.SameRatio(), 1.0);
  EXPECT_EQ(confusion.LargestError().first, "");
}

TEST(ComparePhasesTest, ARefusedInferenceHasNoConfusion) {
  InferredPhases refused;
  refused.refusal = "it computes no exponentials (MUFU.EX2)";
  const PhaseConfusion confusion = CompareWithNames(Named({"qk"}), refused, {1.0});
  EXPECT_EQ(confusion.All(), 0.0);
  EXPECT_EQ(confusion.SameRatio(), 0.0);
}

TEST(ComparePhasesTest, WaitsAtBarriersAreNotWork) {
  DeviceFunction function = Named({"qk", "qk"});
  function.id = 1;
  PcSampling sampling;
  sampling.samples = {{1, 0, {{"barrier", 50}, {"wait", 3}, {"wait_not_issued", 2}}}, {1, 16, {{"selected", 4}}}};
  EXPECT_EQ(WorkingSamples(function, sampling), (std::vector<double>{3.0, 4.0}));
  function.instructions[0].opcode = "WARPGROUP.DEPBAR.LE";
  EXPECT_EQ(WorkingSamples(function, sampling), (std::vector<double>{53.0, 4.0})) << "it waits for its own products";
}

TEST(ComparePhasesTest, WhereInferenceIsRefusedTheNamedPhasesAndTheCheckAreThere) {
  const auto comparisons = ComparePhases(sample::MakeRecording(), Mma());
  ASSERT_EQ(comparisons.size(), 1U);
  const PhaseComparison& comparison = comparisons[0];
  EXPECT_EQ(comparison.missing, "");
  EXPECT_EQ(comparison.unnamed, "");
  EXPECT_NE(comparison.refusal, "");
  EXPECT_EQ(comparison.same_ratio, std::nullopt);
  const auto softmax = std::ranges::find(comparison.phases, "softmax", &ComparedPhase::phase);
  ASSERT_NE(softmax, comparison.phases.end());
  EXPECT_DOUBLE_EQ(softmax->named_ratio.value_or(0.0), 1800.0 / 4500.0) << "of samples at no barrier";
  EXPECT_EQ(softmax->inferred_ratio, std::nullopt);
}

/// The sample's call with an attention kernel whose functions name phases: 100 samples at each instruction.
Recording WithAttention(const std::vector<Line>& lines) {
  Recording recording = sample::MakeRecording();
  recording.functions = {MakeFunction(lines)};
  recording.samplings[0].samples.clear();
  recording.countings.clear();
  for (const Instruction& instruction : recording.functions[0].instructions) {
    recording.samplings[0].samples.push_back({1, instruction.offset, {{"wait", 100}}});
  }
  return recording;
}

TEST(ComparePhasesTest, WhereBothArePossibleTheyAreSideBySide) {
  std::vector<Line> lines = MmaAttention();
  lines[25].stack = {"pv()"};  // named otherwise than inferred: it copies a maximum
  const auto comparisons = ComparePhases(WithAttention(lines), Mma());
  ASSERT_EQ(comparisons.size(), 1U);
  const PhaseComparison& comparison = comparisons[0];
  EXPECT_EQ(comparison.unnamed + comparison.refusal + comparison.missing, "");
  EXPECT_EQ(comparison.weighed_by, "samples");
  const auto find = [&](const char* phase) {
    return *std::ranges::find(comparison.phases, phase, &ComparedPhase::phase);
  };
  ASSERT_TRUE(find("pv").named_ratio && find("pv").difference);
  EXPECT_LT(*find("pv").difference, 0.0);
  EXPECT_GT(find("softmax").difference.value_or(0.0), 0.0);
  EXPECT_EQ(find("qk").same_ratio, 1.0);
  EXPECT_LT(find("pv").same_ratio.value_or(1.0), 1.0);
  const auto swap = std::ranges::find_if(
      comparison.swaps, [](const PhaseSwap& each) { return each.named == "pv" && each.inferred == "softmax"; });
  ASSERT_NE(swap, comparison.swaps.end());
  EXPECT_NEAR(swap->ratio, -*find("pv").difference, 1e-12);
  double named = 0.0;
  double inferred = 0.0;
  for (const ComparedPhase& row : comparison.phases) {
    named += row.named_ratio.value_or(0.0);
    inferred += row.inferred_ratio.value_or(0.0);
  }
  EXPECT_NEAR(named, 1.0, 1e-12);
  EXPECT_NEAR(inferred, 1.0, 1e-12);
}

TEST(ComparePhasesTest, WithoutNamesTheInferredPhasesAreThere) {
  std::vector<Line> lines = MmaAttention();
  for (Line& line : lines) line.stack.clear();
  const PhaseComparison comparison = ComparePhases(WithAttention(lines), Mma()).at(0);
  EXPECT_NE(comparison.unnamed, "");
  EXPECT_EQ(comparison.refusal, "");
  EXPECT_EQ(comparison.same_ratio, std::nullopt);
  const auto softmax = std::ranges::find(comparison.phases, "softmax", &ComparedPhase::phase);
  ASSERT_NE(softmax, comparison.phases.end());
  EXPECT_GT(softmax->inferred_ratio.value_or(0.0), 0.0);
  EXPECT_EQ(softmax->named_ratio, std::nullopt);
}

TEST(ComparePhasesTest, WithoutNamesItSaysWhatIsMissing) {
  Recording recording = sample::MakeRecording();
  for (Instruction& instruction : recording.functions[0].instructions) instruction.frames = {{"f()", "a.cu", 1}};
  EXPECT_EQ(ComparePhases(recording, Mma()).at(0).unnamed, "no function of its code has the name of a phase");
  for (Instruction& instruction : recording.functions[0].instructions) instruction.frames.clear();
  EXPECT_NE(ComparePhases(recording, Mma()).at(0).unnamed.find("no line information"), std::string::npos);
}

TEST(ComparePhasesTest, WithoutCodeItSaysWhy) {
  Recording recording = sample::MakeRecording();
  recording.functions[0].instructions.clear();
  EXPECT_EQ(ComparePhases(recording, Mma()).at(0).missing, "its machine code was not disassembled");
  recording.samplings.clear();
  recording.countings.clear();
  EXPECT_NE(ComparePhases(recording, Mma()).at(0).missing.find("no samples"), std::string::npos);
}

TEST(ComparePhasesTest, WithoutSamplesExecutionsWeigh) {
  Recording recording = sample::MakeRecording();
  recording.samplings.clear();
  EXPECT_EQ(ComparePhases(recording, Mma()).at(0).weighed_by, "executed instructions");
}

}  // namespace
}  // namespace fa_profile::analyze::compare_phases_test
