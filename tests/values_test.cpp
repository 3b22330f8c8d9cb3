#include "inference/values.h"

#include <gtest/gtest.h>

#include <vector>

#include "device_code.h"

namespace fa_profile::analyze::values_test {
namespace {

/// The definitions that reach an instruction's first data operand.
std::vector<std::uint32_t> ReachingFirst(const std::vector<Line>& lines, std::size_t instruction) {
  const DeviceFunction function = MakeFunction(lines);
  std::vector<Operands> operands;
  for (const Instruction& one : function.instructions) operands.push_back(ReadOperands(one));
  StepBudget budget;
  const Flow flow = ReadFlow(function, budget);
  const Values values(operands, flow, budget);
  for (const ValueUse& use : values.UsesOf(instruction)) {
    if (use.role == Role::kA) return values.DefinitionsOf(use.value, budget);
  }
  return {};
}

using Definitions = std::vector<std::uint32_t>;

TEST(ValuesTest, ADefinitionHidesTheOneBefore) {
  EXPECT_EQ(ReachingFirst({{"", "MOV", "R1, R2", {}}, {"", "MOV", "R1, R3", {}}, {"", "MOV", "R4, R1", {}}}, 2),
            (Definitions{1}));
}

TEST(ValuesTest, AUseUnderAPredicateSeesOnlyWhatIsThereUnderIt) {
  const std::vector<Line> lines = {{"", "MOV", "R1, R2", {}},     {"@P0", "MOV", "R1, R3", {}},
                                   {"@P0", "MOV", "R4, R1", {}},  {"@!P0", "MOV", "R5, R1", {}},
                                   {"", "MOV", "R6, R1", {}},     {"@P1", "MOV", "R7, R1", {}},
                                   {"@!P0", "MOV", "R1, R8", {}}, {"", "MOV", "R9, R1", {}}};
  EXPECT_EQ(ReachingFirst(lines, 2), (Definitions{1}));
  EXPECT_EQ(ReachingFirst(lines, 3), (Definitions{0}));
  EXPECT_EQ(ReachingFirst(lines, 4), (Definitions{0, 1}));
  EXPECT_EQ(ReachingFirst(lines, 5), (Definitions{0, 1}));
  EXPECT_EQ(ReachingFirst(lines, 7), (Definitions{1, 6})) << "@P0 and @!P0 together hide what was before";
}

TEST(ValuesTest, APredicateThatIsDefinedAgainIsAnother) {
  const std::vector<Line> lines = {{"", "MOV", "R1, R2", {}},
                                   {"@P0", "MOV", "R1, R3", {}},
                                   {"", "ISETP.GE.AND", "P0, PT, R9, RZ, PT", {}},
                                   {"@P0", "MOV", "R4, R1", {}}};
  EXPECT_EQ(ReachingFirst(lines, 3), (Definitions{0, 1}));
}

TEST(ValuesTest, ValuesComeRoundALoop) {
  const std::vector<Line> lines = {{"", "MOV", "R1, RZ", {}},
                                   {"", "FADD", "R2, R1, R3", {}},
                                   {"", "MOV", "R1, R2", {}},
                                   {"@P0", "BRA", "0x10", {}},
                                   {"", "MOV", "R4, R1", {}}};
  EXPECT_EQ(ReachingFirst(lines, 1), (Definitions{0, 2}));
  EXPECT_EQ(ReachingFirst(lines, 4), (Definitions{2}));
}

TEST(ValuesTest, CodeForThreadsThatDivergedPassesNoValues) {
  // Two shuffles, each with a way for diverged threads through one subroutine.
  const std::vector<Line> lines = {{"", "MOV", "R1, R9", {}},
                                   {"", "BRA.DIV", "UR4, 0x80", {}},
                                   {"", "SHFL.BFLY", "PT, R2, R1, 0x1, 0x1f", {}},
                                   {"", "MUFU.EX2", "R1, R2", {}},
                                   {"", "BRA.DIV", "UR4, 0xa0", {}},
                                   {"", "SHFL.BFLY", "PT, R3, R1, 0x1, 0x1f", {}},
                                   {"", "FADD", "R4, R1, R3", {}},
                                   {"", "EXIT", "", {}},
                                   {"", "CALL.REL.NOINC", "0xc0", {}},  // 0x80
                                   {"", "BRA", "0x30", {}},
                                   {"", "CALL.REL.NOINC", "0xc0", {}},  // 0xa0
                                   {"", "BRA", "0x60", {}},
                                   {"", "SHFL.BFLY", "PT, R2, R1, 0x1, 0x1f", {}},  // 0xc0
                                   {"", "RET.REL.NODEC", "R20, 0x0", {}}};
  EXPECT_EQ(ReachingFirst(lines, 3), (Definitions{2}));
  EXPECT_EQ(ReachingFirst(lines, 6), (Definitions{3}));
}

TEST(ValuesTest, ASubroutineReturnsItsValues) {
  const std::vector<Line> lines = {{"", "MOV", "R1, R2", {}},      {"", "CALL.REL.NOINC", "0x40", {}},
                                   {"", "MOV", "R4, R1", {}},      {"", "EXIT", "", {}},
                                   {"", "FMUL", "R1, R1, R3", {}}, {"", "RET.REL.NODEC", "R20, 0x0", {}}};
  EXPECT_EQ(ReachingFirst(lines, 4), (Definitions{0}));
  const Definitions behind = ReachingFirst(lines, 2);
  EXPECT_EQ(behind.back(), 4U);
}

}  // namespace
}  // namespace fa_profile::analyze::values_test
