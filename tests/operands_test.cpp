#include "inference/operands.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fa_profile::analyze::operands_test {
namespace {

Operands Read(const std::string& opcode, const std::string& operands, const std::string& predicate = "") {
  Instruction instruction;
  instruction.predicate = predicate;
  instruction.opcode = opcode;
  instruction.operands = operands;
  return ReadOperands(instruction);
}

std::string SlotName(Slot slot) {
  if (slot >= kFirstUniformPredicate) return "UP" + std::to_string(slot - kFirstUniformPredicate);
  if (slot >= kFirstPredicate) return "P" + std::to_string(slot - kFirstPredicate);
  return slot >= kFirstUniform ? "UR" + std::to_string(slot - kFirstUniform) : "R" + std::to_string(slot);
}

std::string Definitions(const Operands& operands) {
  std::string text;
  for (const Slot slot : operands.definitions) text += SlotName(slot) + " ";
  return text;
}

/// "A:R4 address:R2"
std::string Uses(const Operands& operands) {
  constexpr const char* kRoles[] = {"A", "B", "C", "address", "guard", "select"};
  std::string text;
  for (const Use& use : operands.uses) {
    text += std::string(kRoles[static_cast<std::size_t>(use.role)]) + ":" + SlotName(use.slot) + " ";
  }
  return text;
}

TEST(OperandsTest, MatrixInstructionsHaveTheWidthsOfTheirFragments) {
  const Operands f16 = Read("HMMA.16816.F32", "R4, R8.reuse, R12, R16");
  EXPECT_EQ(Definitions(f16), "R4 R5 R6 R7 ");
  EXPECT_EQ(Uses(f16), "A:R8 A:R9 A:R10 A:R11 B:R12 B:R13 C:R16 C:R17 C:R18 C:R19 ");
  EXPECT_EQ(Definitions(Read("HMMA.16816.F16", "R4, R8, R12, R4")), "R4 R5 ");
  EXPECT_EQ(Uses(Read("HMMA.1688.F32", "R4, R8, R12, RZ")), "A:R8 A:R9 B:R12 ");
  EXPECT_EQ(Uses(Read("HMMA.1688.F32.TF32", "R4, R8, R12, RZ")), "A:R8 A:R9 A:R10 A:R11 B:R12 B:R13 ");
}

TEST(OperandsTest, WarpgroupMatrixInstructionsTakeAFromRegistersOrSharedMemory) {
  const Operands shared = Read("HGMMA.64x16x16.F32", "R24, gdesc[UR8], RZ, !UPT, gsb0");
  EXPECT_EQ(shared.definitions.size(), 8U);
  EXPECT_EQ(Uses(shared), "address:UR8 address:UR9 address:UR10 address:UR11 ");
  const Operands registers = Read("HGMMA.64x8x16.F32", "R24, R4, gdesc[UR8].tnspB, R24, gsb0");
  EXPECT_EQ(registers.definitions.size(), 4U);
  EXPECT_EQ(Uses(registers),
            "A:R4 A:R5 A:R6 A:R7 address:UR8 address:UR9 address:UR10 address:UR11 C:R24 C:R25 C:R26 C:R27 ");
}

TEST(OperandsTest, GluedOperandsAreTakenApart) {
  const Operands load = Read("LDSM.16.M88.4", "R68[R92+UR6]");
  EXPECT_EQ(Definitions(load), "R68 R69 R70 R71 ");
  EXPECT_EQ(Uses(load), "address:R92 address:UR6 ");
  const Operands copy = Read("LDGSTS.E.BYPASS.LTC128B.128", "desc[UR24][R110.64], P1[R0+0x600]");
  EXPECT_EQ(Definitions(copy), "");
  EXPECT_EQ(Uses(copy), "address:UR24 address:R110 address:R111 select:P1 address:R0 ");
  EXPECT_EQ(SplitOperands("desc[UR24][R2.64][R0+0x600]"),
            (std::vector<std::string_view>{"desc[UR24][R2.64]", "[R0+0x600]"}));
  EXPECT_EQ(Definitions(Read("SYNCS.PHASECHK.TRANS64.TRYWAIT", "P0[UR4], R4")), "P0 ");
}

TEST(OperandsTest, StoresUseAsManyRegistersAsTheyStore) {
  EXPECT_EQ(Uses(Read("STS.128", "[R16+0x800], R88", "@!P2")), "guard:P2 address:R16 A:R88 A:R89 A:R90 A:R91 ");
  EXPECT_EQ(Uses(Read("STG.E.64", "desc[UR4][R12.64+0x8], R4")), "address:UR4 address:R12 address:R13 A:R4 A:R5 ");
}

TEST(OperandsTest, PredicatesAreDefinedAndUsed) {
  EXPECT_EQ(Definitions(Read("ISETP.GE.AND", "P4, PT, R15, R57, PT")), "P4 ");
  EXPECT_EQ(Definitions(Read("IADD3", "R4, P1, R4, 0x100, RZ")), "R4 P1 ");
  EXPECT_EQ(Uses(Read("IADD3.X", "R5, R5, UR3, RZ, P1, !PT")), "A:R5 B:UR3 select:P1 ");
  EXPECT_EQ(Definitions(Read("SHFL.BFLY", "PT, R4, R5, 0x1, 0x1f")), "R4 ");
  EXPECT_EQ(Definitions(Read("R2P", "PR, R0, 0x7f")), "P0 P1 P2 P3 P4 P5 P6 ");
  EXPECT_EQ(Definitions(Read("REDUX.MAX", "UR4, R2")), "UR4 ");
}

TEST(OperandsTest, TensorMemoryIsReadAndWrittenByManyRegisters) {
  const Operands load = Read("LDTM.x4", "R8, tmem[UR11+0x40]");
  EXPECT_EQ(Definitions(load), "R8 R9 R10 R11 ");
  EXPECT_EQ(Uses(load), "address:UR11 ");
  const Operands store = Read("STTM.16dp32bit_t0_t15.x2", "tmem[UR9+0x20], R4");
  EXPECT_EQ(Definitions(store), "");
  EXPECT_EQ(Uses(store), "address:UR9 A:R4 A:R5 ");
  const Operands product = Read("UTCHMMA", "tmem[UR40], gdesc[UR4], tmem[UR39], tmem[UR42], idesc[UR43], UP1");
  EXPECT_EQ(Definitions(product), "");
  EXPECT_EQ(Uses(product), "address:UR40 address:UR4 address:UR5 address:UR39 address:UR42 address:UR43 select:UP1 ");
}

TEST(OperandsTest, WhatOnlyReadsItsFirstOperandDefinesNothing) {
  const Operands copy = Read("UTCCP.T.S.4x32dp128bit", "tmem[UR6], gdesc[UR10]");
  EXPECT_EQ(Definitions(copy), "");
  EXPECT_EQ(Uses(copy), "address:UR6 address:UR10 ");
  const Operands event = Read("PMTRIG", "0x80");
  EXPECT_EQ(Definitions(event) + Uses(event), "");
  EXPECT_EQ(Definitions(Read("UTCATOMSWS.FIND_AND_SET.ALIGN", "UP0, UR6, UR6")), "UP0 UR6 ");
}

TEST(OperandsTest, AnInstructionThatNeverRunsIsToldApart) {
  EXPECT_TRUE(Read("LDS", "RZ[RZ]", "@!PT").never);
  EXPECT_TRUE(Read("UIADD3", "URZ, URZ, URZ, URZ", "@!UPT").never);
  EXPECT_FALSE(Read("LDS", "R4[R5]", "@!P0").never);
}

TEST(OperandsTest, MultiplyAddsFollowFromTheShape) {
  Instruction instruction;
  instruction.opcode = "HMMA.16816.F32";
  EXPECT_EQ(MultiplyAdds(instruction, Form::kMatrix), 2048.0);
  instruction.opcode = "HGMMA.64x128x16.F32";
  EXPECT_EQ(MultiplyAdds(instruction, Form::kWarpgroupMatrix), 64.0 * 128 * 16 / 4);
  instruction.opcode = "HFMA2";
  EXPECT_EQ(MultiplyAdds(instruction, Form::kMultiply), 64.0);
}

}  // namespace
}  // namespace fa_profile::analyze::operands_test
