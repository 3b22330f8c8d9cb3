#include "mbarrier_copies.h"

#include <gtest/gtest.h>

#include "device_code.h"

namespace fa_profile::analyze::mbarrier_copies_test {
namespace {

using Copies = std::vector<std::size_t>;

/// For each wait in the code, the copies that it waits for.
std::vector<Copies> CopiesOf(const std::vector<Line>& lines) {
  const DeviceFunction function = MakeFunction(lines);
  const MbarrierCopies found = CopiesWaitedFor(function, MbarrierWaits(function));
  std::vector<Copies> copies;
  for (const auto& group : found.group_of_wait) copies.push_back(group ? found.groups[*group] : Copies());
  return copies;
}

Line Question(const char* operands) { return {"", "SYNCS.PHASECHK.TRANS64.TRYWAIT", operands, {}}; }

TEST(MbarrierCopiesTest, ACopyOfTmaCompletesTheMbarrierBehindItsDestination) {
  // nvcc 13.0's code for two cp.async.bulk with mbarriers 16 bytes apart, its waits one after the other.
  std::vector<Line> code = {{"", "S2UR", "UR8, SR_CgaCtaId", {}},
                            {"", "UMOV", "UR6, 0x400", {}},
                            {"", "UIADD3", "UR7, UR6, 0x2000, URZ", {}},
                            {"", "ULEA", "UR11, UR8, UR7, 0x18", {}},
                            {"", "ULEA", "UR10, UR8, UR6, 0x18", {}},
                            {"", "UBLKCP.S.G", "[UR10][UR4], UR7", {}},  // 5
                            {"", "UIADD3", "UR6, UR6, 0x1000, URZ", {}},
                            {"", "UIADD3", "UR7, UR11, 0x10, URZ", {}},
                            {"", "ULEA", "UR6, UR8, UR6, 0x18", {}},
                            {"", "UBLKCP.S.G", "[UR6][UR4], UR8", {}},  // 9
                            {"", "UMOV", "UR4, 0x400", {}},
                            {"", "UIADD3", "UR5, UR4, 0x2000, URZ", {}},
                            {"", "ULEA", "UR5, UR8, UR5, 0x18", {}},
                            Question("P0[UR5], R4"),
                            {"@!P0", "BRA", "0xd0", {}},
                            Question("P0[UR5+0x10], R4"),
                            {"@!P0", "BRA", "0xf0", {}},
                            {"", "EXIT", "", {}}};
  EXPECT_EQ(CopiesOf(code), (std::vector<Copies>{{5}, {9}}));
  code[7] = {"", "ULDC", "UR7, c[0x0][0x210]", {}};  // a pointer to it is a parameter
  EXPECT_EQ(CopiesOf(code), (std::vector<Copies>{{5}, {}}));
}

/// K and V in two stages each: mbarriers at 0x1c010 and 0x1c020 of aligned shared memory, the stage in UR4.
std::vector<Line> TwoArrays() {
  return {{"", "UMOV", "UR8, 0x400", {}},
          {"", "UIADD3", "UR9, -UR8, URZ, URZ", {}},
          {"", "ULOP3.LUT", "UR9, UR9, 0x3ff, URZ, 0xc0, !UPT", {}},
          {"", "ULOP3.LUT", "UR13, UR9, 0x1c000, URZ, 0xfc, !UPT", {}},
          {"", "UMOV", "UR4, URZ", {}},
          {"", "ULEA", "UR17, UR4, UR8, 0x3", {}},  // 5: the loop
          {"", "UIADD3", "UR17, UR17, 0x10, UR13", {}},
          {"", "UTMALDG.3D", "[UR16][UR24]", {}},  // 7: K
          {"", "UIADD3", "UR4, UR4, 0x1, URZ", {}},
          {"", "ULEA", "UR19, UR4, UR8, 0x3", {}},
          {"", "UIADD3", "UR19, UR19, 0x20, UR13", {}},
          {"", "UTMALDG.3D.MULTICAST", "[UR18][UR24], UR6", {}},  // 11: V
          {"@P1", "BRA", "0x50", {}},
          {"", "UIADD3", "UR7, UR8, UR9, URZ", {}},
          {"", "ULEA", "UR24, UR4, UR7, 0x3", {}},
          Question("P0[UR24+0x1c020], R3"),  // 15
          {"@!P0", "BRA", "0xf0", {}},
          Question("P0[UR24+0x1c010], R3"),  // 17
          {"@!P0", "BRA", "0x110", {}},
          Question("P0[UR24+0x1c030], R3"),  // 19: warps arrive there
          {"@!P0", "BRA", "0x130", {}},
          {"", "EXIT", "", {}}};
}

TEST(MbarrierCopiesTest, TheStagesOfAnArrayAreOneAndItsNeighbourIsAnother) {
  EXPECT_EQ(CopiesOf(TwoArrays()), (std::vector<Copies>{{11}, {7}, {}}));
}

/// A copy that completes the mbarrier in UR5, and a wait for the one in UR7 at index 4.
std::vector<Copies> WaitFor(const Line& first, const Line& second, const char* opcode = "UTMALDG.2D") {
  return CopiesOf({{"", "UMOV", "UR5, 0x400", {}},
                   {"", opcode, "[UR4][UR8]", {}},
                   first,
                   second,
                   Question("P0[UR7], R3"),
                   {"@!P0", "BRA", "0x40", {}},
                   {"", "EXIT", "", {}}});
}

TEST(MbarrierCopiesTest, APlaceIsKnownOnlyIfAllThatWasAddedIs) {
  const Line nop = {"", "NOP", "", {}};
  const std::vector<Copies> known{{1}};
  const std::vector<Copies> unknown{{}};
  EXPECT_EQ(WaitFor({"", "UMOV", "UR7, 0x400", {}}, nop), known);
  EXPECT_EQ(WaitFor({"", "ULDC", "UR6, c[0x0][0x210]", {}}, {"", "UIADD3", "UR7, UR6, 0x400, URZ", {}}), unknown);
  EXPECT_EQ(WaitFor({"", "LDS", "R9[R8]", {}}, {"", "R2UR", "UR7, R9", {}}), unknown);
  EXPECT_EQ(WaitFor({"", "UIADD3", "UR7, UR5, c[0x0][0x210], URZ", {}}, nop), unknown);
  EXPECT_EQ(WaitFor({"", "UPRMT", "UR7, UR5, 0x654, URZ", {}}, nop), unknown);
  EXPECT_EQ(WaitFor({"", "ULEA", "UR7, UR6, UR5, 0x3", {}}, nop), known) << "an element of the array";
  EXPECT_EQ(WaitFor({"", "UMOV", "UR6, 0x440", {}}, {"", "USEL", "UR7, UR5, UR6, UP0", {}}), unknown) << "one of two";
  EXPECT_EQ(WaitFor({"", "UMOV", "UR7, 0x400", {}}, {"@P1", "UMOV", "UR7, 0x440", {}}), unknown) << "one of two";
  EXPECT_EQ(WaitFor({"", "UMOV", "UR7, 0x400", {}}, nop, "UBLKCP.G.S"), unknown) << "a copy from shared memory";
}

TEST(MbarrierCopiesTest, APointerThatMovesThroughAnArrayIsAtTheArray) {
  EXPECT_EQ(CopiesOf({{"", "UMOV", "UR5, 0x400", {}},
                      {"", "UTMALDG.2D", "[UR4][UR8]", {}},
                      {"", "MOV", "R7, 0x400", {}},
                      Question("P0[R7], R3"),
                      {"@!P0", "BRA", "0x30", {}},
                      {"", "IADD3", "R7, R7, 0x8, RZ", {}},
                      {"@P1", "BRA", "0x30", {}},
                      {"", "EXIT", "", {}}}),
            (std::vector<Copies>{{1}}));
}

TEST(MbarrierCopiesTest, WhereOtherWarpsArriveTheNeighbourOfAnArrayMayBeMeant) {
  // Full mbarriers at 0x1c010, followed by empty ones: an unrolled loop reaches both with constants.
  std::vector<Line> code = TwoArrays();
  code.back() = {"", "SYNCS.ARRIVE.TRANS64.A1T0", "RZ[UR24+0x1c020], RZ", {}};
  EXPECT_EQ(CopiesOf(code), (std::vector<Copies>{{}, {7}, {}}));
  code.back() = {"", "SYNCS.ARRIVE.TRANS64", "RZ[UR24+0x1c020], R3", {}};
  EXPECT_EQ(CopiesOf(code), (std::vector<Copies>{{11}, {7}, {}})) << "of the producer, which says how many bytes come";
}

TEST(MbarrierCopiesTest, EarlyQuestionsHaveTheSameAddress) {
  std::vector<Line> code = TwoArrays();
  code[16] = {"@!P0", "BRA", "0x160", {}};  // the loop that asks again comes after the code
  code.push_back(Question("P0[UR24+0x1c020], R3"));
  code.push_back({"@!P0", "BRA", "0x160", {}});
  code.push_back({"", "BRA", "0x110", {}});
  EXPECT_EQ(CopiesOf(code), (std::vector<Copies>{{11}, {7}, {}}));
}

TEST(MbarrierCopiesTest, AddressesThatAreUnknownAreNotTheSame) {
  EXPECT_EQ(CopiesOf({{"", "LDS", "R2[R9]", {}},
                      {"", "R2UR", "UR5, R2", {}},
                      {"", "UTMALDG.2D", "[UR4][UR8]", {}},
                      {"", "LDS", "R6[R9]", {}},
                      Question("P0[R6], R3"),
                      {"@!P0", "BRA", "0x40", {}},
                      {"", "EXIT", "", {}}}),
            (std::vector<Copies>{{}}));
}

TEST(MbarrierCopiesTest, CopiesOfThreadsCompleteTheMbarrierTheyArriveAt) {
  EXPECT_EQ(CopiesOf({{"", "UMOV", "UR7, 0x1400", {}},
                      {"", "LDGSTS.E.128", "desc[UR8][R2.64][R5]", {}},
                      {"", "ARRIVES.LDGSTSBAR.64.ARVCNT", "[UR7+0x8]", {}},
                      Question("P0[UR7+0x8], R0"),
                      {"@!P0", "BRA", "0x30", {}},
                      Question("P0[UR7], R0"),
                      {"@!P0", "BRA", "0x50", {}},
                      {"", "EXIT", "", {}}}),
            (std::vector<Copies>{{2}, {}}));
}

TEST(MbarrierCopiesTest, StrangeOperandsAreNoCopies) {
  const auto copies_with = [](const char* operands) {
    return CopiesOf({{"", "UMOV", "UR5, 0x400", {}},
                     {"", "UTMALDG.3D", operands, {}},
                     {"", "ARRIVES.LDGSTSBAR.64", operands, {}},
                     Question("P0[UR5], R4"),
                     {"@!P0", "BRA", "0x30", {}}});
  };
  EXPECT_EQ(copies_with("[UR4][UR8]"), (std::vector<Copies>{{1}}));
  EXPECT_EQ(copies_with("[UR5]"), (std::vector<Copies>{{2}}));
  for (const char* const operands :
       {"", "[", "[]", "[U", "[R", "R4", "[R4][UR8]", "[URZ][UR4]", "[UR63][UR4]", "[P0]"}) {
    EXPECT_EQ(copies_with(operands), (std::vector<Copies>{{}})) << operands;
  }
  EXPECT_TRUE(CopiesOf({}).empty());
}

}  // namespace
}  // namespace fa_profile::analyze::mbarrier_copies_test
