#include "opcode.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace fa_profile::analyze::opcode_test {
namespace {

TEST(OpcodeTest, TheClassOfAnOpcodeIgnoresItsModifiers) {
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

TEST(OpcodeTest, EveryClassHasAUniqueName) {
  std::set<std::string_view> names;
  for (int i = 0; i < kOpcodeClasses; ++i) names.insert(ClassName(static_cast<OpcodeClass>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kOpcodeClasses));
  EXPECT_FALSE(names.contains(""));
}

TEST(OpcodeTest, TensorFlopsFollowTheShape) {
  EXPECT_EQ(TensorFlops("HMMA.16816.F32"), 2.0 * 16 * 8 * 16);
  EXPECT_EQ(TensorFlops("HMMA.1688.F32.TF32"), 2.0 * 16 * 8 * 8);
  EXPECT_EQ(TensorFlops("IMMA.16832.S8.S8"), 2.0 * 16 * 8 * 32);
  EXPECT_EQ(TensorFlops("IMMA.8816.S8.S8"), 2.0 * 8 * 8 * 16);
  EXPECT_EQ(TensorFlops("DMMA.8x8x4"), 2.0 * 8 * 8 * 4);
  EXPECT_EQ(TensorFlops("BMMA.168256.AND.POPC"), 2.0 * 16 * 8 * 256);
}

TEST(OpcodeTest, AWarpIsCreditedAQuarterOfAWarpgroupsProduct) {
  EXPECT_EQ(TensorFlops("HGMMA.64x128x16.F32"), 2.0 * 16 * 128 * 16);
  EXPECT_EQ(TensorFlops("QGMMA.64x8x32.F32.E4M3.E4M3"), 2.0 * 16 * 8 * 32);
}

TEST(OpcodeTest, SparseProductsCountHalfTheTerms) {
  EXPECT_EQ(TensorFlops("HMMA.SP.16832.F32"), 16.0 * 8 * 32);
  EXPECT_EQ(TensorFlops("HGMMA.SP.64x8x32.F32"), 16.0 * 8 * 32);
}

TEST(OpcodeTest, AnUnknownTensorShapeHasNoFlops) {
  for (const char* opcode : {"UTCHMMA", "HMMA", "HMMA.", "HMMA.F32", "HMMA.64x", "HMMA.64xx8", "HMMA.0x8x4", "HMMA.1",
                             "HMMA.99999999999999999999"}) {
    EXPECT_EQ(TensorFlops(opcode), std::nullopt) << opcode;
  }
  EXPECT_EQ(TensorFlops("FFMA"), 0.0);
}

TEST(OpcodeTest, ThreadFlopsCountProductsAndSums) {
  EXPECT_EQ(ThreadFlops("FFMA.FTZ", "R1, R2, R3, R1"), 2.0);
  EXPECT_EQ(ThreadFlops("FADD", "R1, -RZ, R3"), 1.0);
  EXPECT_EQ(ThreadFlops("HFMA2", "R1, R2, R3, R1"), 4.0);
  EXPECT_EQ(ThreadFlops("HMUL2", "R1, R2, R3"), 2.0);
  EXPECT_EQ(ThreadFlops("DFMA", "R4, R8, R8, R4"), 2.0);
  EXPECT_EQ(ThreadFlops("FMNMX", "R1, R2, R3, !PT"), 0.0);
  EXPECT_EQ(ThreadFlops("MUFU.EX2", "R1, R2"), 0.0);
  EXPECT_EQ(ThreadFlops("HMMA.16816.F32", "R4, R8, R12, R4"), 0.0);
}

TEST(OpcodeTest, HalfPrecisionMovesAndConversionsHaveNoFlops) {
  EXPECT_EQ(ThreadFlops("HFMA2.MMA", "R1, -RZ, RZ, 1.875, 0"), 0.0);
  EXPECT_EQ(ThreadFlops("HADD2.F32", "R22, -RZ, R23.H0_H0"), 0.0);
}

TEST(OpcodeTest, PackedExponentialsCountTwice) {
  EXPECT_EQ(ThreadExponentials("MUFU.EX2"), 1.0);
  EXPECT_EQ(ThreadExponentials("MUFU.EX2.F16"), 1.0);
  EXPECT_EQ(ThreadExponentials("MUFU.EX2.F16x2"), 2.0);
  EXPECT_EQ(ThreadExponentials("MUFU.RCP"), 0.0);
}

}  // namespace
}  // namespace fa_profile::analyze::opcode_test
