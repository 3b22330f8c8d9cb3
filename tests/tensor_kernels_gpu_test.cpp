// Kernel libraries of version 2 on a GPU: the examples are right, and what is wrong is found and named.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "fa_profile/error.h"
#include "fa_profile/kernels.h"
#include "gpu.h"
#include "run_program.h"
#include "test_files.h"

namespace fa_profile {
namespace {

std::string Example(const std::string& name) { return std::string(FA_PROFILE_EXAMPLES) + "/" + name + ".so"; }
std::string Tensors() { return std::string(FA_PROFILE_KERNEL_LIBS) + "/tensors.so"; }

void ExpectCorrect(const std::string& library, const std::string& shape) {
  const auto kernel = LoadKernelLibrary(library);
  const Shape fitted = *kernel->Fit(Shape::Parse(shape)).shape;
  ASSERT_EQ(kernel->WhyNot(fitted), "");
  const Verification v = Verify(*kernel, fitted, 2, 1);
  EXPECT_TRUE(v.correct()) << fitted.ToString() << ": " << v.error << v.where << ", ratio " << v.max_error_ratio;
}

TEST(ExamplesGpuTest, AttentionIsCorrectForSequencesOfEveryLength) {
  ExpectCorrect(Example("attention"), "tokens=1024");
  ExpectCorrect(Example("attention"), "tokens=1024,causal=1");
  ExpectCorrect(Example("attention"), "tokens=333,batch=7,heads=6,kv_heads=3,head_dim=128,causal=1");
  ExpectCorrect(Example("attention"), "tokens=5,batch=9,heads=1,kv_heads=1");
  ExpectCorrect(Example("attention"), "tokens=1,batch=1,heads=4,kv_heads=4,causal=1");
}

TEST(ExamplesGpuTest, AttentionRefusesHeadsThatCannotBeGrouped) {
  EXPECT_TRUE(
      Contains(LoadKernelLibrary(Example("attention"))->WhyNot(Shape::Parse("heads=3")), "multiple of kv_heads"));
}

TEST(ExamplesGpuTest, GemmIsCorrectForEverySize) {
  ExpectCorrect(Example("gemm"), "m=256,n=128,k=192");
  ExpectCorrect(Example("gemm"), "m=1,n=1,k=1");
  ExpectCorrect(Example("gemm"), "m=65,n=127,k=33");
}

TEST(ExamplesGpuTest, LayerNormIsCorrectForEverySize) {
  ExpectCorrect(Example("layer_norm"), "rows=4096");
  ExpectCorrect(Example("layer_norm"), "rows=3,cols=257");
  ExpectCorrect(Example("layer_norm"), "rows=2,cols=5000");
}

class TensorFaultsGpuTest : public testing::Test {
 protected:
  Verification Verified(int fault, const std::string& more = "") const {
    return Verify(*kernel_, *kernel_->Fit(Shape::Parse("fault=" + std::to_string(fault) + more)).shape, 2, 1);
  }
  const std::unique_ptr<Kernel> kernel_ = LoadKernelLibrary(Tensors());
};

TEST_F(TensorFaultsGpuTest, WithoutAFaultItIsCorrect) {
  const Verification v = Verified(0);
  EXPECT_TRUE(v.correct()) << v.error << v.where;
  EXPECT_EQ(v.draws_passed, 2);
  EXPECT_EQ(v.where, "");
  EXPECT_TRUE(Verified(0, ",rows=300,cols=77,groups=9,scale=-3").correct());
}

TEST_F(TensorFaultsGpuTest, AWrongRowIsNamed) {
  const Verification v = Verified(1);
  EXPECT_FALSE(v.correct());
  EXPECT_EQ(v.draws_passed, 0);
  EXPECT_TRUE(Contains(v.where, "y[5,")) << v.where;
  EXPECT_TRUE(Contains(v.where, ", expected ")) << v.where;
}

TEST_F(TensorFaultsGpuTest, UnwrittenElementsAreCountedAndNamed) {
  const Verification v = Verified(2);
  EXPECT_EQ(v.unwritten, 2 * 8);
  EXPECT_EQ(v.where, "y[5,0]: never written");
}

TEST_F(TensorFaultsGpuTest, ANanIsNamed) {
  const Verification v = Verified(3);
  EXPECT_EQ(v.nonfinite, 2);
  EXPECT_TRUE(Contains(v.where, "y[5,1]: nan, expected ")) << v.where;
}

TEST_F(TensorFaultsGpuTest, AChangedInputIsNamed) {
  EXPECT_EQ(Verified(4).where, "x[5,2]: the kernel changed this element of an input");
}

TEST_F(TensorFaultsGpuTest, AWrongElementInPlaceIsNamed) { EXPECT_TRUE(Contains(Verified(14).where, "count[5]: ")); }

TEST_F(TensorFaultsGpuTest, ARefusedLaunchAndAFailedReferenceAreResults) {
  EXPECT_TRUE(Contains(Verified(5).error, "no launch today"));
  EXPECT_TRUE(Contains(Verified(8).error, "no reference today"));
}

TEST_F(TensorFaultsGpuTest, WhatDoesNotFitIntoTheGpuIsAnErrorWithItsSizes) {
  try {
    (void)Verified(12);
    FAIL() << "a workspace of 2^64 bytes";
  } catch (const Error& error) {
    EXPECT_TRUE(Contains(error.message(), "does not fit"));
    EXPECT_TRUE(Contains(error.message(), "workspace"));
  }
}

// Each fault in a child process: the program goes on and says what happened.
class TensorProgramGpuTest : public FolderTest {
 protected:
  Outcome Run(const std::string& arguments) const {
    return RunInShell(folder_, std::string(FA_PROFILE_PROGRAM) + " " + arguments);
  }
  Outcome VerifyFault(int fault) const {
    return Run("verify --kernel scale_rows --kernel-lib " + Tensors() + " --shape fault=" + std::to_string(fault));
  }
};

TEST_F(TensorProgramGpuTest, VerifyReportsEveryFault) {
  EXPECT_EQ(VerifyFault(0).exit_code, 0);
  const auto expect = [&](int fault, const std::string& what) {
    const Outcome outcome = VerifyFault(fault);
    EXPECT_EQ(outcome.exit_code, 1) << fault << outcome.err;
    EXPECT_TRUE(Contains(outcome.out, what)) << fault;
    EXPECT_TRUE(Contains(outcome.out, "rows=6,cols=8,groups=2,scale=2,fault=")) << fault;
  };
  expect(1, "y[5,");
  expect(2, "never written; y[5,0]: never written");
  expect(6, "cudaErrorIllegalAddress");
  expect(9, "crashed in reference()");
  expect(10, "ended the process in reference()");
  expect(11, "offsets[2] is drawn as nan");
  expect(13, "crashed in launch()");
  EXPECT_EQ(VerifyFault(7).exit_code, 2) << "no kernel takes the shape";
  EXPECT_TRUE(Contains(VerifyFault(7).err, "fault 7 is refused"));
  EXPECT_TRUE(Contains(VerifyFault(12).err, "the tensors of a call need"));
}

TEST_F(TensorProgramGpuTest, ARunRecordsAndReportsShapeWorkAndPhases) {
  const Outcome run = Run("--kernel '^layer_norm$' --kernel-lib " + Example("layer_norm") +
                          " --shape rows=2048 --shape rows=512,cols=2048 --ncu-set phases --draws 1 --repeats 5 "
                          "--phase-map " FA_PROFILE_SOURCE "/examples/layer_norm/phases.yaml -o r.fap");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(Contains(run.out, "rows=2048,cols=1024"));
  EXPECT_TRUE(Contains(run.out, "rows=512,cols=2048"));
  const Outcome details = Run("report r.fap --details");
  for (const char* const phase : {"mean", "variance", "normalise"}) EXPECT_TRUE(Contains(details.out, phase));
  const Outcome csv = Run("report r.fap --format csv");
  EXPECT_TRUE(Contains(csv.out, ",\"rows=2048,cols=1024\",shape_flops,16777216,"));
  const Outcome selected = Run("report r.fap --shape rows=2048,cols=1024");
  EXPECT_EQ(selected.exit_code, 0) << selected.err;
  EXPECT_FALSE(Contains(selected.out, "rows=512"));
}

TEST_F(TensorProgramGpuTest, AFileOfTheUsersIsUsed) {
  WriteFile(folder_ / "offsets.bin", std::string("\0\0\0\0\0\0\0\0\0\0\0\0", 12));
  const std::string verify = "verify --kernel scale_rows --kernel-lib " + Tensors() + " --shape rows=6 --tensor ";
  EXPECT_EQ(Run(verify + "offsets=offsets.bin").exit_code, 0);
  EXPECT_EQ(Run(verify + "offsets=missing.bin").exit_code, 2);
}

TEST_F(TensorProgramGpuTest, TheGateMeasuresAndJudgesALibraryBesideItself) {
  const Outcome sample =
      Run("gate-sample --kernel '^gemm$' --kernel-lib " + Example("gemm") + " --shape m=256,n=256,k=256");
  EXPECT_EQ(sample.exit_code, 0) << sample.err;
  EXPECT_TRUE(Contains(sample.out, "\"shape\":\"m=256,n=256,k=256\""));
  const Outcome pair = Run("gate --shared --measure-identical --pairs 5 --phase-pairs 0 --pair " + Example("gemm") +
                           " " + Example("gemm") + " --shape m=256,n=256,k=256 --json gate.json");
  EXPECT_EQ(pair.exit_code, 0) << pair.out << pair.err;
  EXPECT_TRUE(Contains(ReadFile(folder_ / "gate.json"), "m=256,n=256,k=256"));
}

}  // namespace
}  // namespace fa_profile
