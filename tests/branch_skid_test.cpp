#include "branch_skid.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "device_code.h"

namespace fa_profile::analyze::branch_skid_test {
namespace {

using Samples = std::map<std::string, std::uint64_t>;

constexpr const char* kExecuted = "smsp__sass_inst_executed";

/// What is left of `behind`, the samples of the instruction after one with this opcode, and what that one got of them.
struct Corrected {
  Samples branch;
  Samples behind;
};

/// `ran_behind`: how often the instruction after it ran; nothing: it was not counted.
Corrected Correct(const std::string& opcode, std::uint64_t ran, std::optional<std::uint64_t> ran_behind,
                  const Samples& behind) {
  const DeviceFunction function = MakeFunction({{"", opcode, "0x0", {}}, {"", "MUFU.EX2", "R1,R1", {}}});
  PcSampling sampling;
  sampling.samples = {{1, 16, behind}};
  SassCounting counting;
  counting.counts = {{1, 0, {{kExecuted, ran}}}};
  if (ran_behind) counting.counts.push_back({1, 16, {{kExecuted, *ran_behind}}});
  Corrected corrected;
  for (const PcSample& pc : WithoutBranchSkid({&function}, sampling, counting).samples) {
    (pc.offset == 0 ? corrected.branch : corrected.behind) = pc.samples;
  }
  return corrected;
}

TEST(BranchSkidTest, ABranchOutOfTheCodeGetsItsSamplesBack) {
  for (const char* opcode : {"BRA", "BRA.U", "BRX", "BRX.CONV", "JMP", "JMX", "CALL", "CALL.REL.NOINC", "RET",
                             "RET.REL.NODEC", "EXIT", "BSYNC", "BSYNC.RECONVERGENT"}) {
    const Corrected corrected = Correct(opcode, 100, 0, {{"wait", 100}});
    EXPECT_EQ(corrected.branch, (Samples{{"wait", 100}})) << opcode;
    EXPECT_EQ(corrected.behind, Samples()) << opcode;
  }
}

TEST(BranchSkidTest, AnInstructionThatAlwaysFallsThroughGetsNoSamples) {
  // BSSY and BREAK only prepare a branch; and an opcode is not identified by its first letters alone.
  for (const char* opcode : {"FFMA", "BSSY", "BREAK", "BAR.SYNC", "WARPSYNC", "NOP", "RETX", "EXITED", "BRANCH"}) {
    const Corrected corrected = Correct(opcode, 100, 0, {{"wait", 100}});
    EXPECT_EQ(corrected.branch, Samples()) << opcode;
    EXPECT_EQ(corrected.behind, (Samples{{"wait", 100}})) << opcode;
  }
}

TEST(BranchSkidTest, SamplesMoveInProportionToTheTimesTheBranchWasTaken) {
  // 60 of 100 branches were taken: 60 slots are theirs, 40 belong to the instruction after them.
  const Corrected corrected = Correct("BRA", 100, 40, {{"selected", 50}, {"wait", 1000}, {"short_scoreboard", 30}});
  EXPECT_EQ(corrected.branch, (Samples{{"selected", 30}, {"wait", 600}}));
  EXPECT_EQ(corrected.behind, (Samples{{"selected", 20}, {"wait", 400}, {"short_scoreboard", 30}}));
}

TEST(BranchSkidTest, ABranchThatWasNeverTakenGetsNothing) {
  for (const std::uint64_t behind : {100U, 130U}) {  // 130: others come there too
    EXPECT_EQ(Correct("BRA", 100, behind, {{"wait", 1000}}).branch, Samples());
  }
}

TEST(BranchSkidTest, AllSamplesOfCodeThatNeverRanGoToTheBranch) {
  const Samples all{{"selected", 5}, {"short_scoreboard", 7}, {"wait", 9}};
  for (const std::optional<std::uint64_t> never : {std::optional<std::uint64_t>(0), std::optional<std::uint64_t>()}) {
    EXPECT_EQ(Correct("BRA", 1, never, all).branch, all);
  }
}

TEST(BranchSkidTest, CountsBeyondWhatADoubleHoldsAreMovedWhole) {
  for (const std::uint64_t count : {std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    EXPECT_EQ(Correct("BRA", 1, 0, {{"wait", count}}).branch, (Samples{{"wait", count}}));
  }
}

TEST(BranchSkidTest, WithoutInstructionCountsSamplesStay) {
  const DeviceFunction function = MakeFunction({{"", "BRA", "0x0", {}}, {"", "FADD", "", {}}});
  PcSampling sampling;
  sampling.samples = {{1, 16, {{"wait", 10}}}, {7, 16, {{"wait", 3}}}};
  SassCounting counting;
  counting.counts = {{2, 0, {{kExecuted, 100}}}};
  const PcSampling corrected = WithoutBranchSkid({&function}, sampling, counting);
  ASSERT_EQ(corrected.samples.size(), 2U);
  EXPECT_EQ(corrected.samples[0].offset, 16U);
  EXPECT_EQ(corrected.samples[0].samples, (Samples{{"wait", 10}}));
  EXPECT_EQ(corrected.samples[1].samples, (Samples{{"wait", 3}})) << "of a function nobody knows";
}

}  // namespace
}  // namespace fa_profile::analyze::branch_skid_test
