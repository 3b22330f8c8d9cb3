#include "phase_confusion.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fa_profile::analyze::phase_confusion_test {
namespace {

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

TEST(PhaseConfusionTest, WhatIsNamedOneWayAndInferredAnotherIsAnError) {
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

TEST(PhaseConfusionTest, BarriersAndPaddingDoNotCount) {
  DeviceFunction function = Named({"qk", "sync", "sync"});
  function.instructions[1].opcode = "BAR.SYNC.DEFER_BLOCKING";
  function.instructions[2].opcode = "NOP";
  const PhaseConfusion confusion = CompareWithNames(function, Inferred({"qk", "pv", "pv"}), {1.0, 5.0, 5.0});
  EXPECT_DOUBLE_EQ(confusion.All(), 1.0);
  EXPECT_DOUBLE_EQ(confusion.SameRatio(), 1.0);
  EXPECT_EQ(confusion.LargestError().first, "");
}

TEST(PhaseConfusionTest, ARefusedInferenceHasNoConfusion) {
  InferredPhases refused;
  refused.refusal = "it computes no exponentials (MUFU.EX2)";
  const PhaseConfusion confusion = CompareWithNames(Named({"qk"}), refused, {1.0});
  EXPECT_EQ(confusion.All(), 0.0);
  EXPECT_EQ(confusion.SameRatio(), 0.0);
}

TEST(PhaseConfusionTest, WaitsAtBarriersAreNotWork) {
  DeviceFunction function = Named({"qk", "qk"});
  function.id = 1;
  PcSampling sampling;
  sampling.samples = {{1, 0, {{"barrier", 50}, {"wait", 3}, {"wait_not_issued", 2}}}, {1, 16, {{"selected", 4}}}};
  EXPECT_EQ(WorkingSamples(function, sampling), (std::vector<double>{3.0, 4.0}));
  function.instructions[0].opcode = "WARPGROUP.DEPBAR.LE";
  EXPECT_EQ(WorkingSamples(function, sampling), (std::vector<double>{53.0, 4.0})) << "it waits for its own products";
}

}  // namespace
}  // namespace fa_profile::analyze::phase_confusion_test
