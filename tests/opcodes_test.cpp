#include "fa_profile/opcodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace fa_profile::sass::opcodes_test {
namespace {

TEST(OpcodesTest, TheTableIsSortedAndEachRowIsFound) {
  const auto table = OpcodeTable();
  EXPECT_TRUE(std::ranges::is_sorted(table, std::ranges::less(), &Opcode::base));
  for (const Opcode& row : table) {
    const std::string base(row.base);
    SCOPED_TRACE(base);
    EXPECT_EQ(&FindOpcode(base), &row) << "twice in the table";
    EXPECT_EQ(&FindOpcode(base + ".X.64"), &row);
    EXPECT_NE(&FindOpcode(base + "Q"), &row);
    EXPECT_NE(row.opcode_class, OpcodeClass::kOther);
    EXPECT_EQ(row.opcode_class == OpcodeClass::kTensor, row.base.ends_with("MMA"));
  }
}

TEST(OpcodesTest, WhatControlsOrStoresDefinesNothing) {
  for (const Opcode& row : OpcodeTable()) {
    const bool stores = IsGlobalStore(row.form) || row.form == Form::kSharedStore || row.form == Form::kLocalStore ||
                        row.form == Form::kRemoteStore;
    const bool copies = IsBulkCopy(row.form) || row.form == Form::kAsyncCopy || row.form == Form::kTensorCopy;
    EXPECT_TRUE(row.traits.defines_nothing || !(IsControl(row.form) || stores || copies)) << row.base;
    EXPECT_TRUE(row.opcode_class == OpcodeClass::kAsyncCopy || !copies) << row.base;
  }
}

// nvdisasm 13.0 on tcgen05.cp: "UTCCP.T.S.4x32dp128bit tmem[UR6], gdesc[UR10]".
TEST(OpcodesTest, UtccpCopiesIntoTensorMemoryAndGoesOn) {
  const Opcode& row = FindOpcode("UTCCP.T.S.4x32dp128bit");
  EXPECT_EQ(row.opcode_class, OpcodeClass::kAsyncCopy);
  EXPECT_EQ(row.form, Form::kTensorCopy);
  EXPECT_EQ(row.phase, OpcodePhase::kLoads);
  EXPECT_TRUE(row.traits.defines_nothing);
}

// nvdisasm 13.0 on pmevent: "PMTRIG 0x80", an event for performance monitors.
TEST(OpcodesTest, PmtrigIsControlThatDefinesNothing) {
  const Opcode& row = FindOpcode("PMTRIG");
  EXPECT_EQ(row.opcode_class, OpcodeClass::kControl);
  EXPECT_EQ(row.form, Form::kConvergence);
  EXPECT_EQ(row.phase, OpcodePhase::kControl);
  EXPECT_TRUE(row.traits.defines_nothing);
}

TEST(OpcodesTest, AnOpcodeWithoutARowSaysWhatItsNameTells) {
  for (const char* const opcode : {"", ".", "XYZZY.LDS", "ldg", "9", "\xff"}) {
    EXPECT_EQ(FindOpcode(opcode).base, "") << opcode;
    EXPECT_EQ(ClassOf(opcode), OpcodeClass::kOther) << opcode;
    EXPECT_EQ(FormOf(opcode), Form::kOther) << opcode;
  }
  EXPECT_EQ(ClassOf("UXYZZY"), OpcodeClass::kUniform);
  EXPECT_EQ(FormOf("XMMA.16816"), Form::kUnknownMatrix);
  EXPECT_EQ(FormOf("UTCXMMA"), Form::kUnknownMatrix);
}

TEST(OpcodesTest, PhasesByOpcodeAreThoseOfTheRows) {
  const PhaseMap map = OpcodePhases();
  const std::map<OpcodePhase, std::string> names = {{OpcodePhase::kBarriers, "barriers"},
                                                    {OpcodePhase::kMatrix, "matrix"},
                                                    {OpcodePhase::kReduction, "exponential and reduction"},
                                                    {OpcodePhase::kLoads, "loads"},
                                                    {OpcodePhase::kStores, "stores"},
                                                    {OpcodePhase::kControl, "control"},
                                                    {OpcodePhase::kArithmetic, "other arithmetic"}};
  for (const Opcode& row : OpcodeTable()) {
    const auto rule = std::ranges::find_if(map.rules, [&](const PhaseRule& one) {
      return std::ranges::any_of(one.opcodes, [&](const std::string& begin) { return row.base.starts_with(begin); });
    });
    ASSERT_NE(rule, map.rules.end()) << row.base;
    EXPECT_EQ(rule->phase, names.at(row.phase)) << row.base;
  }
}

TEST(OpcodesTest, FormsFollowTheModifiersOfFunctionsAndProducts) {
  EXPECT_EQ(FormOf("MUFU.EX2.F16"), Form::kExponential);
  EXPECT_EQ(FormOf("MUFU.RCP"), Form::kReciprocal);
  EXPECT_EQ(FormOf("MUFU.SIN"), Form::kOther);
  EXPECT_EQ(FormOf("IMAD.MOV.U32"), Form::kMove);
  EXPECT_EQ(FormOf("IMAD.WIDE.U32"), Form::kAddress);
  EXPECT_EQ(FormOf("IMAD"), Form::kOther);
}

TEST(OpcodesTest, CarriesAndUpperHalvesAreOtherIntegerOperations) {
  EXPECT_EQ(IntegerOpOf("IADD3"), IntegerOp::kAdd);
  EXPECT_EQ(IntegerOpOf("IADD3.X"), IntegerOp::kNone);
  EXPECT_EQ(IntegerOpOf("IMAD.WIDE"), IntegerOp::kMultiplyAdd);
  EXPECT_EQ(IntegerOpOf("IMAD.HI.U32"), IntegerOp::kNone);
  EXPECT_EQ(IntegerOpOf("LEA.HI.X"), IntegerOp::kNone);
  EXPECT_EQ(IntegerOpOf("USHF.L.U32"), IntegerOp::kShift);
  EXPECT_EQ(IntegerOpOf("SHF.R.U32.HI"), IntegerOp::kNone);
}

TEST(OpcodesTest, IntegerComparisonsSayWhenTheyHold) {
  const auto less = ReadIntegerComparison("ISETP.LT.U32.AND");
  ASSERT_TRUE(less);
  EXPECT_TRUE(less->less && !less->equal && !less->greater && less->is_unsigned);
  const auto unequal = ReadIntegerComparison("UISETP.NE.AND");
  ASSERT_TRUE(unequal);
  EXPECT_TRUE(unequal->less && !unequal->equal && unequal->greater && !unequal->is_unsigned);
  for (const char* const opcode : {"ISETP.LT.AND.EX", "ISETP.LT.OR", "FSETP.LT.AND", "ISETP.AND"}) {
    EXPECT_FALSE(ReadIntegerComparison(opcode)) << opcode;
  }
}

TEST(OpcodesTest, WaitsAndArrivalsAreToldApart) {
  EXPECT_TRUE(WaitsAtBarrier("BAR.SYNC.DEFER_BLOCKING"));
  EXPECT_TRUE(WaitsAtBarrier("BAR.RED.POPC.DEFER_BLOCKING"));
  EXPECT_FALSE(WaitsAtBarrier("BAR.ARV"));
  EXPECT_TRUE(ArrivesAtBarrier("BAR.ARV"));
  EXPECT_FALSE(WaitsAtBarrier("WARPSYNC.SYNC"));
  EXPECT_TRUE(AsksMbarrier("SYNCS.PHASECHK.TRANS64.TRYWAIT"));
  EXPECT_FALSE(AsksMbarrier("SYNCS.ARRIVE.TRANS64.A1T0"));
  EXPECT_TRUE(ArrivesAtMbarrier("SYNCS.ARRIVE.TRANS64.A1T0"));
  EXPECT_FALSE(ArrivesAtMbarrier("SYNCS.ARRIVE.TRANS64"));
  EXPECT_TRUE(BeginsProducts("WARPGROUP.ARRIVE"));
  EXPECT_TRUE(WaitsForProducts("WARPGROUP.DEPBAR.LE"));
  EXPECT_FALSE(WaitsForProducts("DEPBAR.LE"));
  EXPECT_TRUE(FillsSharedMemory("UTMALDG.3D.MULTICAST"));
  EXPECT_TRUE(FillsSharedMemory("UBLKCP.S.G"));
  EXPECT_FALSE(FillsSharedMemory("UBLKCP.G.S"));
}

TEST(OpcodesTest, MatrixInstructionsAreKnownByTheirEncoding) {
  EXPECT_TRUE(IsMatrixEncoding(0x03c));   // HMMA
  EXPECT_FALSE(IsMatrixEncoding(0x108));  // MUFU
  EXPECT_FALSE(IsMatrixEncoding(0));
  EXPECT_FALSE(IsMatrixEncoding(1 << 20));
}

TEST(OpcodesTest, TheClassOfAnOpcodeIgnoresItsModifiers) {
  const struct {
    const char* opcode;
    OpcodeClass expected;
  } cases[] = {
      {"HMMA.16816.F32", OpcodeClass::kTensor},
      {"HGMMA.64x128x16.F32", OpcodeClass::kTensor},
      {"UTCHMMA", OpcodeClass::kTensor},
      {"MUFU.EX2", OpcodeClass::kExponential},
      {"MUFU.RCP", OpcodeClass::kSpecial},
      {"FFMA.FTZ", OpcodeClass::kFp32},
      {"HFMA2.MMA", OpcodeClass::kFp16},
      {"DFMA", OpcodeClass::kFp64},
      {"IMAD.MOV.U32", OpcodeClass::kInteger},
      {"LDS.128", OpcodeClass::kSharedLoad},
      {"STS.U16", OpcodeClass::kSharedStore},
      {"LDSM.16.MT88.4", OpcodeClass::kMatrixLoad},
      {"STSM.16.MT88.4", OpcodeClass::kMatrixStore},
      {"LDGSTS.E.BYPASS.128", OpcodeClass::kAsyncCopy},
      {"UTMALDG.3D.MULTICAST", OpcodeClass::kAsyncCopy},
      {"UBLKCP.S.G", OpcodeClass::kAsyncCopy},
      {"LDG.E.CONSTANT", OpcodeClass::kGlobalLoad},
      {"STG.E", OpcodeClass::kGlobalStore},
      {"LDL.LU", OpcodeClass::kLocalLoad},
      {"STL", OpcodeClass::kLocalStore},
      {"ULDC.64", OpcodeClass::kConstantLoad},
      {"BAR.SYNC.DEFER_BLOCKING", OpcodeClass::kBarrier},
      {"SYNCS.PHASECHK.TRANS64.TRYWAIT", OpcodeClass::kAsyncWait},
      {"DEPBAR.LE", OpcodeClass::kAsyncWait},
      {"WARPGROUP.DEPBAR.LE", OpcodeClass::kAsyncWait},
      {"MEMBAR.SC.GPU", OpcodeClass::kFence},
      {"SHFL.BFLY", OpcodeClass::kReduction},
      {"ATOMS.ADD", OpcodeClass::kAtomic},
      {"RED.E.ADD.STRONG.GPU", OpcodeClass::kAtomic},
      {"BRA.DIV", OpcodeClass::kControl},
      {"UIADD3", OpcodeClass::kUniform},
      {"", OpcodeClass::kOther},
      {"XYZZY.LDS", OpcodeClass::kOther},
  };
  for (const auto& [opcode, expected] : cases) EXPECT_EQ(ClassName(ClassOf(opcode)), ClassName(expected)) << opcode;
}

TEST(OpcodesTest, EveryClassHasAUniqueName) {
  std::set<std::string_view> names;
  for (int i = 0; i < kOpcodeClasses; ++i) names.insert(ClassName(static_cast<OpcodeClass>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kOpcodeClasses));
  EXPECT_FALSE(names.contains(""));
}

TEST(OpcodesTest, TensorFlopsFollowTheShape) {
  EXPECT_EQ(TensorFlops("HMMA.16816.F32"), 2.0 * 16 * 8 * 16);
  EXPECT_EQ(TensorFlops("HMMA.1688.F32.TF32"), 2.0 * 16 * 8 * 8);
  EXPECT_EQ(TensorFlops("IMMA.16832.S8.S8"), 2.0 * 16 * 8 * 32);
  EXPECT_EQ(TensorFlops("IMMA.8816.S8.S8"), 2.0 * 8 * 8 * 16);
  EXPECT_EQ(TensorFlops("DMMA.8x8x4"), 2.0 * 8 * 8 * 4);
  EXPECT_EQ(TensorFlops("BMMA.168256.AND.POPC"), 2.0 * 16 * 8 * 256);
}

TEST(OpcodesTest, AccessesToTensorMemoryStateTheirRegistersAndColumns) {
  EXPECT_EQ(RegistersOf("LDTM.x64"), 64);
  EXPECT_EQ(TensorColumns("LDTM.x64"), 64);
  EXPECT_EQ(RegistersOf("STTM"), 1);
  EXPECT_EQ(RegistersOf("LDTM.16dp32bit_t16_t31.x32"), 32);
  EXPECT_EQ(TensorColumns("LDTM.16dp32bit_t16_t31.x32"), 32);
  EXPECT_EQ(RegistersOf("STTM.16dp256bit.x4"), 16) << "two threads have the 256 bits of a lane's element";
  EXPECT_EQ(TensorColumns("STTM.16dp256bit.x4"), 32);
  EXPECT_EQ(RegistersOf("LDTM.x99999"), 128) << "no more than there can be";
}

TEST(OpcodesTest, AProductsShapeIsInItsDescriptor) {
  const auto shape = ShapeOf("UTCHMMA", 0x8200010);
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->m, 128);
  EXPECT_EQ(shape->n, 128);
  EXPECT_EQ(shape->k, 16);
  EXPECT_EQ(ShapeOf("UTCQMMA", 0x4100010)->m, 64);
  EXPECT_EQ(ShapeOf("UTCQMMA", 0x4100010)->k, 32) << "one byte each";
  EXPECT_EQ(ShapeOf("UTCHMMA.2CTA", 0x10200010)->m, 256);
  EXPECT_FALSE(ShapeOf("UTCHMMA", 0)) << "not a constant";
}

TEST(OpcodesTest, ACopyByTmaStatesItsCoordinates) {
  EXPECT_EQ(BulkAddressRegisters("UTMALDG.2D"), 4);
  EXPECT_EQ(BulkAddressRegisters("UTMASTG.5D.MULTICAST"), 7);
  EXPECT_EQ(BulkAddressRegisters("UBLKCP.S.G"), 6);
}

TEST(OpcodesTest, AWarpIsCreditedAQuarterOfAWarpgroupsProduct) {
  EXPECT_EQ(TensorFlops("HGMMA.64x128x16.F32"), 2.0 * 16 * 128 * 16);
  EXPECT_EQ(TensorFlops("QGMMA.64x8x32.F32.E4M3.E4M3"), 2.0 * 16 * 8 * 32);
}

TEST(OpcodesTest, SparseProductsCountHalfTheTerms) {
  EXPECT_EQ(TensorFlops("HMMA.SP.16832.F32"), 16.0 * 8 * 32);
  EXPECT_EQ(TensorFlops("HGMMA.SP.64x8x32.F32"), 16.0 * 8 * 32);
}

TEST(OpcodesTest, AnUnknownTensorShapeHasNoFlops) {
  for (const char* opcode : {"UTCHMMA", "HMMA", "HMMA.", "HMMA.F32", "HMMA.64x", "HMMA.64xx8", "HMMA.0x8x4", "HMMA.1",
                             "HMMA.99999999999999999999"}) {
    EXPECT_EQ(TensorFlops(opcode), std::nullopt) << opcode;
  }
  EXPECT_EQ(TensorFlops("FFMA"), 0.0);
}

TEST(OpcodesTest, ThreadFlopsCountProductsAndSums) {
  EXPECT_EQ(ThreadFlops("FFMA.FTZ", "R1, R2, R3, R1"), 2.0);
  EXPECT_EQ(ThreadFlops("FADD", "R1, -RZ, R3"), 1.0);
  EXPECT_EQ(ThreadFlops("HFMA2", "R1, R2, R3, R1"), 4.0);
  EXPECT_EQ(ThreadFlops("HMUL2", "R1, R2, R3"), 2.0);
  EXPECT_EQ(ThreadFlops("DFMA", "R4, R8, R8, R4"), 2.0);
  EXPECT_EQ(ThreadFlops("FMNMX", "R1, R2, R3, !PT"), 0.0);
  EXPECT_EQ(ThreadFlops("MUFU.EX2", "R1, R2"), 0.0);
  EXPECT_EQ(ThreadFlops("HMMA.16816.F32", "R4, R8, R12, R4"), 0.0);
}

TEST(OpcodesTest, HalfPrecisionMovesAndConversionsHaveNoFlops) {
  EXPECT_EQ(ThreadFlops("HFMA2.MMA", "R1, -RZ, RZ, 1.875, 0"), 0.0);
  EXPECT_EQ(ThreadFlops("HADD2.F32", "R22, -RZ, R23.H0_H0"), 0.0);
}

TEST(OpcodesTest, PackedExponentialsCountTwice) {
  EXPECT_EQ(ThreadExponentials("MUFU.EX2"), 1.0);
  EXPECT_EQ(ThreadExponentials("MUFU.EX2.F16"), 1.0);
  EXPECT_EQ(ThreadExponentials("MUFU.EX2.F16x2"), 2.0);
  EXPECT_EQ(ThreadExponentials("MUFU.RCP"), 0.0);
}

}  // namespace
}  // namespace fa_profile::sass::opcodes_test
