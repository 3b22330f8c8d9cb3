#include "inference/rounds.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attention_code.h"
#include "fa_profile/infer_phases.h"

namespace fa_profile::analyze::rounds_test {
namespace {

/// The rounds of the only loop.
std::optional<double> RoundsOf(const std::vector<Line>& lines) {
  const DeviceFunction function = MakeFunction(lines);
  StepBudget budget;
  std::vector<Operands> operands;
  for (const Instruction& instruction : function.instructions) operands.push_back(ReadOperands(instruction));
  const Flow flow = ReadFlow(function, budget);
  const Values values(operands, flow, budget);
  const auto rounds = ReadRounds(function, operands, flow, values, budget);
  EXPECT_EQ(rounds.size(), 1U);
  return rounds.empty() ? std::nullopt : rounds.front();
}

/// R4 begins as `first`, and `step` and `comparison` end each round.
std::vector<Line> CountedLoop(const std::string& first, const Line& step, const Line& comparison,
                              const Line& branch = {"@P0", "BRA", "0x10", {}}) {
  return {{"", "MOV", "R4, " + first, {}},
          {"", "FADD", "R5, R5, 1", {}},  // the loop
          step,
          comparison,
          branch,
          {"", "EXIT", "", {}}};
}

const Line kStep = {"", "IADD3", "R4, R4, 0x1, RZ", {}};

Line Compare(const std::string& how, const std::string& bound) {
  return {"", how, "P0, PT, R4, " + bound + ", PT", {}};
}

TEST(RoundsTest, CountsRoundsOfAnIncreasingCounter) {
  EXPECT_EQ(RoundsOf(CountedLoop("RZ", kStep, Compare("ISETP.LT.AND", "0x8"))), 8.0);
  EXPECT_EQ(RoundsOf(CountedLoop("0x2", kStep, Compare("ISETP.NE.AND", "0x8"))), 6.0);
  EXPECT_EQ(RoundsOf(CountedLoop("RZ", kStep, Compare("ISETP.LE.U32.AND", "0x8"))), 9.0);
  EXPECT_EQ(RoundsOf(CountedLoop("RZ", {"", "VIADD", "R4, R4, 0x10", {}}, Compare("ISETP.NE.AND", "0x40"))), 4.0);
}

TEST(RoundsTest, CountsDownToo) {
  const Line down = {"", "IADD3", "R4, R4, -0x1, RZ", {}};
  EXPECT_EQ(RoundsOf(CountedLoop("0x5", down, Compare("ISETP.GT.AND", "RZ"))), 5.0);
  EXPECT_EQ(RoundsOf(CountedLoop("0x5", {"", "IADD3", "R4, P1, R4, -0x1, RZ", {}}, Compare("ISETP.GE.AND", "RZ"))),
            6.0);
}

TEST(RoundsTest, TheBranchMayLeaveTheLoop) {
  // "@!P0 BRA out", then a jump back.
  std::vector<Line> lines = CountedLoop("RZ", kStep, Compare("ISETP.LT.AND", "0x3"), {"@!P0", "BRA", "0x60", {}});
  lines.insert(lines.begin() + 5, {"", "BRA", "0x10", {}});
  EXPECT_EQ(RoundsOf(lines), 3.0);
}

TEST(RoundsTest, ACallThatNeverReturnsMayLeaveTheLoop) {
  std::vector<Line> lines =
      CountedLoop("RZ", kStep, Compare("ISETP.GE.U32.AND", "0x80"), {"@P0", "CALL.REL.NOINC", "0x60", {}});
  lines[2].operands = "R4, R4, 0x20, RZ";
  lines.insert(lines.begin() + 5, {"", "BRA", "0x10", {}});
  EXPECT_EQ(RoundsOf(lines), 4.0);
}

TEST(RoundsTest, UniformRegistersCountAlike) {
  EXPECT_EQ(RoundsOf({{"", "UMOV", "UR4, URZ", {}},
                      {"", "UIADD3", "UR4, UR4, 0x1, URZ", {}},
                      {"", "UISETP.NE.AND", "UP0, UPT, UR4, 0x7, UPT", {}},
                      {"", "BRA.U", "UP0, 0x10", {}},
                      {"", "EXIT", "", {}}}),
            7.0);
}

TEST(RoundsTest, SaysNothingOfLoopsThatAreNotCounted) {
  const Line compare = Compare("ISETP.LT.AND", "0x8");
  EXPECT_EQ(RoundsOf(CountedLoop("c[0x0][0x210]", kStep, compare)), std::nullopt) << "a parameter to begin with";
  EXPECT_EQ(RoundsOf(CountedLoop("RZ", kStep, Compare("ISETP.LT.AND", "R9"))), std::nullopt) << "a bound that varies";
  EXPECT_EQ(RoundsOf(CountedLoop("RZ", {"", "IADD3", "R4, R4, R9, RZ", {}}, compare)), std::nullopt);
  EXPECT_EQ(RoundsOf(CountedLoop("RZ", {"@P3", "IADD3", "R4, R4, 0x1, RZ", {}}, compare)), std::nullopt)
      << "some rounds do not count";
  EXPECT_EQ(RoundsOf(CountedLoop("0x9", kStep, Compare("ISETP.NE.AND", "0x8"))), std::nullopt) << "2^32 rounds";
  EXPECT_EQ(RoundsOf(CountedLoop("RZ", kStep, {"", "ISETP.LT.OR", "P0, PT, R4, 0x8, P1", {}})), std::nullopt)
      << "two conditions";
}

TEST(RoundsTest, ASecondWayOutHidesTheRounds) {
  std::vector<Line> lines = CountedLoop("RZ", kStep, Compare("ISETP.LT.AND", "0x8"));
  lines[1] = {"@P3", "BRA", "0x50", {}};
  EXPECT_EQ(RoundsOf(lines), std::nullopt);
  lines[1] = {"@P3", "EXIT", "", {}};
  EXPECT_EQ(RoundsOf(lines), std::nullopt);
}

InferredPhases Infer(const std::vector<Line>& lines) { return InferPhases(MakeFunction(lines)); }

TEST(RoundsTest, AProductInALoopWeighsAsManyAsItsRounds) {
  const InferredPhases four = Infer(RolledAttention("ISETP.NE.AND", "R60, 0x4"));
  EXPECT_EQ(four.refusal, "");
  EXPECT_DOUBLE_EQ(four.checks.qk_to_pv_ratio.value(), 1.0);
  EXPECT_TRUE(four.checks.rounds_known);
  EXPECT_EQ(Infer(RolledAttention("ISETP.NE.AND", "R60, 0x5")).refusal,
            "QK:PV multiply-adds are 1.25 by instructions in the code, not 1.00");
}

TEST(RoundsTest, ALoopOfUnknownLengthIsToldInTheRefusal) {
  const InferredPhases unknown = Infer(RolledAttention("ISETP.LT.AND", "R60, R61"));
  EXPECT_EQ(unknown.refusal,
            "QK:PV multiply-adds are 0.25 by instructions in the code, with loops of unknown length, not 1.00");
  EXPECT_EQ(unknown.refusal_word, "ratio");
  EXPECT_FALSE(unknown.checks.rounds_known);
}

}  // namespace
}  // namespace fa_profile::analyze::rounds_test
