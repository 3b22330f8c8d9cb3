#include "inference/memory.h"

#include <gtest/gtest.h>

#include <vector>

#include "device_code.h"
#include "inference/regions.h"

namespace fa_profile::analyze::memory_test {
namespace {

using Stores = std::vector<std::uint32_t>;

Stores SourcesOf(const std::vector<Line>& lines, std::size_t load, SharedMemoryModel model) {
  const DeviceFunction function = MakeFunction(lines);
  std::vector<Operands> operands;
  for (const Instruction& one : function.instructions) operands.push_back(ReadOperands(one));
  StepBudget budget;
  const Flow flow = ReadFlow(function, budget);
  const Values values(operands, flow, budget);
  const ForwardEdges forward = WithinOneTile(flow, LoopsOverTiles(operands, flow, {}), {});
  return ReadMemory(function, operands, flow, forward.successors, values, {}, model, budget).sources[load];
}

TEST(MemoryTest, ALoadReadsTheNearestBufferBelowIt) {
  const std::vector<Line> lines = {{"", "LDGSTS.E.128", "desc[UR4][R2.64][R0+0x400]", {}},
                                   {"", "MUFU.EX2", "R8, R9", {}},
                                   {"", "STS", "[R1+0x8400], R8", {}},
                                   {"", "LDS", "R10[R3+0x600]", {}},
                                   {"", "LDS", "R11[R3+0x8404]", {}}};
  EXPECT_EQ(SourcesOf(lines, 3, SharedMemoryModel::kEveryStore), (Stores{0}));
  EXPECT_EQ(SourcesOf(lines, 4, SharedMemoryModel::kEveryStore), (Stores{2}));
}

TEST(MemoryTest, ConstantPartsAreFollowedThroughRegistersAndLoops) {
  const std::vector<Line> lines = {{"", "MOV", "R20, 0x400", {}},
                                   {"", "LEA", "R21, R0, R20, 0x2", {}},
                                   {"", "LDGSTS.E.128", "desc[UR4][R2.64][R21]", {}},
                                   {"", "MUFU.EX2", "R8, R9", {}},
                                   {"", "STS", "[R21+0xa000], R8", {}},
                                   {"", "IADD3", "R22, R20, 0xa010, R0", {}},
                                   {"", "LDS.128", "R12[R22+-0x10]", {}},
                                   {"", "IADD3", "R22, R22, 0x20, RZ", {}},
                                   {"@P0", "BRA", "0x60", {}}};
  EXPECT_EQ(SourcesOf(lines, 6, SharedMemoryModel::kEveryStore), (Stores{4}));
}

TEST(MemoryTest, ABufferThatIsUsedAgainHoldsTheNewestStores) {
  // One place holds Q, then P, in turns, with barriers between.
  const std::vector<Line> lines = {{"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}},              // 0: the loop
                                   {"", "LDGSTS.E.128", "desc[UR4][R2.64][R0+0x400]", {}},  // 1
                                   {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}},              // 2
                                   {"", "LDS.128", "R12[R3+0x400]", {}},                    // 3: Q
                                   {"", "MUFU.EX2", "R8, R12", {}},                         // 4
                                   {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}},              // 5
                                   {"", "STS.128", "[R1+0x400], R8", {}},                   // 6
                                   {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}},              // 7
                                   {"", "LDS.128", "R16[R3+0x400]", {}},                    // 8: P
                                   {"@P0", "BRA", "0x0", {}}};                              // 9
  EXPECT_EQ(SourcesOf(lines, 3, SharedMemoryModel::kEveryStore), (Stores{1, 6}));
  EXPECT_EQ(SourcesOf(lines, 3, SharedMemoryModel::kNewestStore), (Stores{1}));
  EXPECT_EQ(SourcesOf(lines, 8, SharedMemoryModel::kNewestStore), (Stores{6}));
}

TEST(MemoryTest, ACopyThatIsSkippedWhereNothingIsLeftToLoadStillOverwrites) {
  std::vector<Line> lines = {{"", "MUFU.EX2", "R8, R9", {}},                          // 0
                             {"", "STS", "[R1+0x400], R8", {}},                       // 1
                             {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}},              // 2
                             {"", "LDS", "R10[R3+0x400]", {}},                        // 3
                             {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}},              // 4
                             {"@P0", "BRA", "0x70", {}},                              // 5: nothing left
                             {"", "LDGSTS.E.128", "desc[UR4][R2.64][R0+0x400]", {}},  // 6
                             {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}},              // 7
                             {"", "LDSM.16.M88.4", "R12[R3+0x400]", {}}};             // 8
  EXPECT_EQ(SourcesOf(lines, 8, SharedMemoryModel::kEveryStore), (Stores{6, 1}));
  EXPECT_EQ(SourcesOf(lines, 8, SharedMemoryModel::kNewestStore), (Stores{6}));
  EXPECT_EQ(SourcesOf(lines, 3, SharedMemoryModel::kNewestStore), (Stores{1}));
  // Without a barrier between them both are found.
  lines[4] = {"", "NOP", "", {}};
  lines[2] = {"", "NOP", "", {}};
  EXPECT_EQ(SourcesOf(lines, 8, SharedMemoryModel::kNewestStore), (Stores{1, 6}));
}

TEST(MemoryTest, WhereOneBufferLiesInAnotherTheOrderOfTheProgramDecides) {
  const std::vector<Line> lines = {{"", "LDGSTS.E.128", "desc[UR4][R2.64][R0+0x400]", {}},  // 0
                                   {"", "LDGSTS.E.128", "desc[UR4][R2.64][R0+0xc00]", {}},  // 1
                                   {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}},              // 2
                                   {"", "LDSM.16.M88.4", "R12[R3+0xc00]", {}},              // 3
                                   {"", "MUFU.EX2", "R8, R12", {}},                         // 4
                                   {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}},              // 5
                                   {"", "STS", "[R1+0x800], R8", {}},                       // 6: inside the copy
                                   {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}},              // 7
                                   {"", "LDS.128", "R16[R3+0xc00]", {}},                    // 8
                                   {"@P0", "BRA", "0x20", {}}};                             // 9
  EXPECT_EQ(SourcesOf(lines, 3, SharedMemoryModel::kNewestStore), (Stores{6})) << "the nearest buffer alone";
  EXPECT_EQ(SourcesOf(lines, 3, SharedMemoryModel::kNewestOfAll), (Stores{0, 1, 6})) << "the loop does not copy again";
  std::vector<Line> again = lines;
  again[9] = {"@P0", "BRA", "0x0", {}};
  EXPECT_EQ(SourcesOf(again, 3, SharedMemoryModel::kNewestOfAll), (Stores{0, 1}));
  EXPECT_EQ(SourcesOf(again, 8, SharedMemoryModel::kNewestOfAll), (Stores{6}));
}

TEST(MemoryTest, AStackSlotIsNoOtherThatLiesBelowIt) {
  // The only store to 0x34 comes after the load: what is at 0x2c is another variable.
  const std::vector<Line> lines = {{"", "STL", "[R1+0x2c], R2", {}},
                                   {"", "LDL", "R4[R1+0x34]", {}},
                                   {"", "STL", "[R1+0x34], R3", {}},
                                   {"", "STL.128", "[R1+0x40], R8", {}},
                                   {"", "LDL", "R5[R1+0x4c]", {}}};
  EXPECT_EQ(SourcesOf(lines, 1, SharedMemoryModel::kEveryStore), (Stores{}));
  EXPECT_EQ(SourcesOf(lines, 4, SharedMemoryModel::kEveryStore), (Stores{3})) << "the last of its four registers";
}

TEST(MemoryTest, LocalMemoryIsExactBySlot) {
  const std::vector<Line> lines = {
      {"", "STL", "[R1], R2", {}}, {"", "STL", "[R1+0x4], R3", {}}, {"", "LDL", "R4[R1+0x4]", {}}};
  EXPECT_EQ(SourcesOf(lines, 2, SharedMemoryModel::kEveryStore), (Stores{1}));
}

}  // namespace
}  // namespace fa_profile::analyze::memory_test
