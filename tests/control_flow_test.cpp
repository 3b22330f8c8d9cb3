#include "control_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "device_code.h"
#include "mbarrier_waits.h"

namespace fa_profile::analyze::control_flow_test {
namespace {

using Indices = std::vector<std::size_t>;

TEST(ControlFlowTest, AnEmptyFunctionHasNoBlocks) {
  EXPECT_TRUE(ReadControlFlow({}).blocks.empty());
  EXPECT_TRUE(AsyncWaits({}).empty());
}

TEST(ControlFlowTest, OnlyAPredicatedBranchFallsThrough) {
  const DeviceFunction function = MakeFunction({
      {"@P0", "BRA", "0x30", {}},  // 0
      {"", "BRA", "0x20", {}},     // 1
      {"", "EXIT", "", {}},        // 2
      {"", "EXIT", "", {}},        // 3
  });
  const ControlFlow flow = ReadControlFlow(function);
  ASSERT_EQ(flow.blocks.size(), 4U);
  EXPECT_EQ(flow.blocks[0].successors, (Indices{3, 1}));
  EXPECT_EQ(flow.blocks[1].successors, (Indices{2}));
  EXPECT_TRUE(flow.blocks[2].successors.empty());
  EXPECT_EQ(flow.blocks[3].predecessors, (Indices{0}));
}

TEST(ControlFlowTest, ABranchConditionMayBeAnOperand) {
  const ControlFlow flow =
      ReadControlFlow(MakeFunction({{"", "BRA", "!P3,0x20", {}}, {"", "NOP", "", {}}, {"", "EXIT", "", {}}}));
  EXPECT_EQ(flow.blocks[0].successors.size(), 2U);
}

TEST(ControlFlowTest, APredicatedExitFallsThrough) {
  const ControlFlow flow = ReadControlFlow(MakeFunction({{"@P0", "EXIT", "", {}}, {"", "EXIT", "", {}}}));
  ASSERT_EQ(flow.blocks.size(), 2U);
  EXPECT_EQ(flow.blocks[0].successors, (Indices{1}));
}

TEST(ControlFlowTest, BsyncContinuesAtTheTargetOfItsBssy) {
  const ControlFlow flow = ReadControlFlow(MakeFunction({
      {"", "BSSY", "B0,0x40", {}},
      {"@P0", "BRA", "0x30", {}},
      {"", "FADD", "R1,R1,R2", {}},
      {"", "BSYNC", "B0", {}},
      {"", "EXIT", "", {}},
  }));
  EXPECT_EQ(flow.blocks[flow.block_of[3]].end, 5U) << "nothing ends at a BSYNC that falls through";
}

TEST(ControlFlowTest, ABsyncElsewhereJumpsToTheTargetOfItsBssy) {
  const ControlFlow flow = ReadControlFlow(MakeFunction({
      {"", "BSSY", "B0,0x30", {}},
      {"@P0", "BRA", "0x40", {}},
      {"", "BRA", "0x30", {}},
      {"", "EXIT", "", {}},
      {"", "BSYNC", "B0", {}},
      {"", "EXIT", "", {}},
  }));
  const BasicBlock& block = flow.blocks[flow.block_of[4]];
  EXPECT_NE(std::ranges::find(block.successors, flow.block_of[3]), block.successors.end());
}

TEST(ControlFlowTest, ABsyncGoesOnWhereTheBssyThatReachesItSays) {
  // The first BSSY is left from rare code after the exit, the second where it should be: no branch leads back.
  const ControlFlow flow = ReadControlFlow(MakeFunction({
      {"", "BSSY", "B0, 0x30", {}},    // 0
      {"@P0", "BRA", "0x90", {}},      // 1
      {"", "BRA", "0x90", {}},         // 2
      {"", "BAR.SYNC", "0x0", {}},     // 3
      {"", "BSSY", "B0, 0x80", {}},    // 4
      {"@P0", "BRA", "0x70", {}},      // 5
      {"", "FADD", "R1, R1, R1", {}},  // 6
      {"", "BSYNC", "B0", {}},         // 7
      {"", "EXIT", "", {}},            // 8
      {"", "BSYNC", "B0", {}},         // 9: to 3
      {"", "NOP", "", {}},             // 10
  }));
  EXPECT_EQ(flow.loop_depth, (std::vector<int>(11, 0)));
  EXPECT_EQ(flow.blocks[flow.block_of[9]].successors, (Indices{flow.block_of[3]}));
  EXPECT_EQ(flow.block_of[7], flow.block_of[8]) << "nothing ends at a BSYNC that falls through";
}

TEST(ControlFlowTest, LoopDepthCountsNestedLoops) {
  const ControlFlow flow = ReadControlFlow(MakeFunction({
      {"", "MOV", "R1,RZ", {}},      // 0: outside
      {"", "MOV", "R2,RZ", {}},      // 1: outer
      {"", "FADD", "R3,R3,R2", {}},  // 2: inner
      {"@P0", "BRA", "0x20", {}},    // 3: inner
      {"@P1", "BRA", "0x10", {}},    // 4: outer
      {"@P2", "BRA", "0x50", {}},    // 5: a loop of one instruction
      {"", "EXIT", "", {}},          // 6
  }));
  EXPECT_EQ(flow.loop_depth, (std::vector<int>{0, 1, 2, 2, 1, 1, 0}));
}

TEST(ControlFlowTest, CodePlacedAfterTheExitBelongsToItsLoop) {
  const ControlFlow flow = ReadControlFlow(MakeFunction({
      {"", "MOV", "R1,RZ", {}},
      {"@P0", "BRA", "0x40", {}},    // 1: rarely taken
      {"@P1", "BRA", "0x10", {}},    // 2
      {"", "EXIT", "", {}},          // 3
      {"", "FADD", "R1,R1,R2", {}},  // 4: in the loop all the same
      {"", "BRA", "0x20", {}},
  }));
  EXPECT_EQ(flow.loop_depth, (std::vector<int>{0, 1, 1, 0, 1, 1}));
}

TEST(ControlFlowTest, ASubroutineIsAsDeepAsItsDeepestCall) {
  const ControlFlow flow = ReadControlFlow(MakeFunction({
      {"", "CALL.REL.NOINC", "0x40", {}},
      {"", "CALL.REL.NOINC", "0x40", {}},
      {"@P0", "BRA", "0x10", {}},
      {"", "EXIT", "", {}},
      {"", "MUFU.RCP", "R1,R1", {}},
      {"", "RET.REL.NODEC", "R2,0x0", {}},
  }));
  EXPECT_EQ(flow.loop_depth, (std::vector<int>{0, 1, 1, 0, 1, 1}));
}

TEST(ControlFlowTest, ACallOfCodeThatNeverReturnsIsAJump) {
  // ptxas for sm_80 leaves the loop over keys this way.
  const ControlFlow flow = ReadControlFlow(MakeFunction({
      {"", "FADD", "R1,R1,R1", {}},           // 0
      {"@P0", "CALL.REL.NOINC", "0x30", {}},  // 1: out of the loop
      {"", "BRA", "0x0", {}},                 // 2
      {"", "CALL.REL.NOINC", "0x60", {}},     // 3: a subroutine
      {"", "STG.E", "[R2],R1", {}},           // 4
      {"", "EXIT", "", {}},                   // 5
      {"", "MUFU.RCP", "R1,R1", {}},          // 6
      {"", "RET.REL.NODEC", "R2,0x0", {}},    // 7
  }));
  EXPECT_EQ(flow.loop_depth, (std::vector<int>{1, 1, 1, 0, 0, 0, 0, 0}));
  EXPECT_FALSE(flow.blocks[flow.block_of[1]].callee);
  EXPECT_EQ(flow.blocks[flow.block_of[1]].successors, (Indices{flow.block_of[2], flow.block_of[3]}));
  EXPECT_TRUE(flow.blocks[flow.block_of[3]].callee);
}

TEST(ControlFlowTest, AnIndirectBranchLeadsToTheTargetsInItsOperands) {
  const ControlFlow flow = ReadControlFlow(MakeFunction({
      {"", "BRX", "R2, -0x10, {0x20, 0x30}", {}},
      {"", "BRA", "0x30", {}},
      {"", "FADD", "R1,R1,R1", {}},
      {"", "EXIT", "", {}},
  }));
  EXPECT_EQ(flow.blocks[0].successors, (Indices{flow.block_of[2], flow.block_of[3]}));
  EXPECT_EQ(flow.unknown_branches, 0);
}

TEST(ControlFlowTest, AnIndirectBranchWithoutKnownTargetsMakesNoLoop) {
  // Two tables of jumps. If each may go to any block that nothing else leads to, the second leads back to itself.
  for (const char* const operands : {"R2, -0x10", "R2, -0x10, {", "R2, -0x10, {}", "R2, -0x10, {0x20, 0x8}"}) {
    SCOPED_TRACE(operands);
    const ControlFlow flow = ReadControlFlow(MakeFunction({
        {"", "BRX", operands, {}},
        {"", "BAR.SYNC", "0x0", {}},
        {"", "BRX", operands, {}},
        {"", "FADD", "R1,R1,R1", {}},
        {"", "EXIT", "", {}},
    }));
    EXPECT_EQ(flow.unknown_branches, 2);
    EXPECT_EQ(flow.loop_depth, (std::vector<int>(5, 0)));
  }
}

TEST(ControlFlowTest, ABarrierWaitsForTheCodeSinceThePreviousBarrier) {
  const DeviceFunction function = MakeFunction({
      {"", "LDG.E", "R1,[R2]", {}},                // 0
      {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}},  // 1
      {"@P0", "BRA", "0x40", {}},                  // 2: all but one thread skip
      {"", "MUFU.EX2", "R1,R1", {}},               // 3
      {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}},  // 4
      {"@P1", "BRA", "0x20", {}},                  // 5: back after the first barrier
      {"", "EXIT", "", {}},                        // 6
  });
  const ControlFlow flow = ReadControlFlow(function);
  EXPECT_EQ(WaitedFor(function, flow, 1), (Indices{0}));
  EXPECT_EQ(WaitedFor(function, flow, 4), (Indices{2, 3, 5})) << "the branch back leads there too";
}

TEST(ControlFlowTest, AFirstInstructionBarrierWaitsForNothing) {
  const DeviceFunction function =
      MakeFunction({{"", "BAR.SYNC", "0x0", {}}, {"", "BAR.SYNC", "0x0", {}}, {"", "EXIT", "", {}}});
  EXPECT_TRUE(WaitedFor(function, ReadControlFlow(function), 0).empty());
  EXPECT_TRUE(WaitedFor(function, ReadControlFlow(function), 1).empty());
}

TEST(ControlFlowTest, ABarrierAlsoWaitsForSubroutinesCalledBeforeIt) {
  const DeviceFunction function = MakeFunction({
      {"", "CALL.REL.NOINC", "0x30", {}},
      {"", "BAR.SYNC", "0x0", {}},
      {"", "EXIT", "", {}},
      {"", "MUFU.RCP", "R1,R1", {}},
      {"", "RET.REL.NODEC", "R2,0x0", {}},
  });
  EXPECT_EQ(WaitedFor(function, ReadControlFlow(function), 1), (Indices{0, 3, 4}));
}

TEST(ControlFlowTest, AWarpSampledAfterItsBarrierWaitsAtTheNearestBarrier) {
  const DeviceFunction function = MakeFunction({
      {"", "FADD", "R1,R1,R1", {}},                // 0
      {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}},  // 1
      {"", "ISETP.NE.AND", "P0,PT,R3,RZ,PT", {}},  // 2
      {"@P0", "BRA", "0x50", {}},                  // 3
      {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}},  // 4
      {"", "LDS", "R1,[R2]", {}},                  // 5: from 3 or from 4
  });
  const ControlFlow flow = ReadControlFlow(function);
  EXPECT_EQ(BarrierPassed(function, flow, 0), std::nullopt);
  EXPECT_EQ(BarrierPassed(function, flow, 1), 1U);
  EXPECT_EQ(BarrierPassed(function, flow, 3), 1U);
  EXPECT_EQ(BarrierPassed(function, flow, 5), 4U);
}

TEST(ControlFlowTest, AnMbarrierWaitIsATryWaitAndTheBranchOnItsResult) {
  const DeviceFunction function = MakeFunction({
      {"", "SYNCS.PHASECHK.TRANS64.TRYWAIT", "P0[UR4], R4", {}},
      {"", "NOP", "", {}},
      {"@!P0", "BRA", "0x0", {}},
      {"", "FADD", "R1,R1,R1", {}},
      {"", "SYNCS.ARRIVE.TRANS64.A1T0", "RZ,[UR4],RZ", {}},
  });
  EXPECT_EQ(AsyncWaits(function), (std::vector<bool>{true, true, true, false, false}));
}

TEST(ControlFlowTest, AnEarlyTryWaitIsWaitedForAtTheBranchToItsLoop) {
  const DeviceFunction function = MakeFunction({
      {"", "SYNCS.PHASECHK.TRANS64.TRYWAIT", "P2[UR7], R4", {}},  // 0: the early question
      {"", "BRA", "0x20", {}},                                    // 1
      {"", "FADD", "R1,R1,R1", {}},                               // 2: other work
      {"", "BRA", "!P2, 0x60", {}},                               // 3: here the answer is needed
      {"@!P3", "BRA", "0x60", {}},                                // 4: of another predicate
      {"", "EXIT", "", {}},                                       // 5
      {"", "SYNCS.PHASECHK.TRANS64.TRYWAIT", "P2[UR7], R4", {}},  // 6
      {"@P2", "BRA", "0x40", {}},                                 // 7
      {"", "BRA", "0x60", {}},                                    // 8
  });
  EXPECT_EQ(AsyncWaits(function), (std::vector<bool>{true, false, false, true, false, false, true, true, false}));
}

TEST(ControlFlowTest, RandomInstructionsGiveAValidGraph) {
  std::mt19937 random(7);
  const std::vector<std::string> opcodes{"BRA",      "BRX",  "CALL.REL",       "RET", "EXIT", "BSSY", "BSYNC",
                                         "BAR.SYNC", "FADD", "SYNCS.PHASECHK", "",    "."};
  const std::vector<std::string> operands{"", "0x", "0xzz", "0xffffffffff", "B0,0x20", "B0", "P0,", ",", "0x7"};
  for (int round = 0; round < 500; ++round) {
    std::vector<Line> lines(random() % 60);
    for (Line& line : lines) {
      line.predicate = random() % 2 == 0 ? "" : "@P0";
      line.opcode = opcodes[random() % opcodes.size()];
      const std::string target = "0x" + std::string(1, "0123456789abcdef"[random() % 16]) + "0";
      line.operands = random() % 2 == 0 ? target : operands[random() % operands.size()];
    }
    const DeviceFunction function = MakeFunction(lines);
    const ControlFlow flow = ReadControlFlow(function);
    ASSERT_EQ(flow.block_of.size(), lines.size());
    ASSERT_EQ(flow.loop_depth.size(), lines.size());
    (void)AsyncWaits(function);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto barrier = BarrierPassed(function, flow, i);
      if (barrier) (void)WaitedFor(function, flow, *barrier);
    }
  }
}

TEST(ControlFlowTest, DeeplyNestedLoopsTakeBoundedTime) {
  constexpr std::size_t kInstructions = 100'000;
  std::vector<Line> lines(kInstructions, {"@P0", "BRA", "0x0", {}});
  const ControlFlow flow = ReadControlFlow(MakeFunction(lines));
  EXPECT_EQ(flow.loop_depth.front(), 1);
}

}  // namespace
}  // namespace fa_profile::analyze::control_flow_test
