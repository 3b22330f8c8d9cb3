// Kernel libraries on a GPU: the examples are right, and what is wrong is found and named.
#include <gtest/gtest.h>

#include <string>

#include "gpu.h"
#include "run_program.h"
#include "test_files.h"

namespace fa_profile {
namespace {

std::string Example(const std::string& name) { return std::string(FA_PROFILE_EXAMPLES) + "/" + name + ".so"; }
std::string Tensors() { return std::string(FA_PROFILE_KERNEL_LIBS) + "/tensors.so"; }

// Each fault in a child process: the program continues and says what happened.
class TensorProgramGpuTest : public FolderTest {
 protected:
  Outcome Run(const std::string& arguments) const {
    return RunInShell(folder_, std::string(FA_PROFILE_PROGRAM) + " " + arguments);
  }
  Outcome VerifyFault(int fault) const {
    return Run("verify --kernel scale_rows --kernel-lib " + Tensors() + " --shape fault=" + std::to_string(fault));
  }
};

TEST_F(TensorProgramGpuTest, TheExamplesAreCorrectForEverySize) {
  const auto expect = [&](const std::string& example, const std::string& kernel, const std::string& shapes) {
    const Outcome outcome =
        Run("verify --no-timing --draws 2 --kernel '^" + kernel + "$' --kernel-lib " + Example(example) + shapes);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  };
  expect("attention", "varlen_gqa",
         " --shape tokens=1024 --shape tokens=1024,causal=1 --shape tokens=5,batch=9,heads=1,kv_heads=1"
         " --shape tokens=333,batch=7,heads=6,kv_heads=3,head_dim=128,causal=1"
         " --shape tokens=1,batch=1,heads=4,kv_heads=4,causal=1");
  expect("gemm", "gemm", " --shape m=256,n=128,k=192 --shape m=1,n=1,k=1 --shape m=65,n=127,k=33");
  expect("layer_norm", "layer_norm", " --shape rows=4096 --shape rows=3,cols=257 --shape rows=2,cols=5000");
}

TEST_F(TensorProgramGpuTest, HeadsThatCannotBeGroupedAreRefused) {
  EXPECT_TRUE(Contains(Run("verify --kernel varlen --kernel-lib " + Example("attention") + " --shape heads=3").err,
                       "multiple of kv_heads"));
}

TEST_F(TensorProgramGpuTest, VerifyReportsEveryFault) {
  EXPECT_EQ(VerifyFault(0).exit_code, 0);
  const auto expect = [&](int fault, const std::string& what) {
    const Outcome outcome = VerifyFault(fault);
    EXPECT_EQ(outcome.exit_code, 1) << fault << outcome.err;
    EXPECT_TRUE(Contains(outcome.out, what)) << fault;
    EXPECT_TRUE(Contains(outcome.out, "rows=6,cols=8,groups=2,scale=2,fault=")) << fault;
  };
  expect(1, "y[5,");
  expect(3, "y[5,1]: nan");
  expect(4, "changed one of its inputs");
  expect(5, "no launch today");
  expect(8, "no reference today");
  expect(14, "count[5]: ");
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
  const Outcome details =
      Run("report r.fap --details --phase-map " FA_PROFILE_SOURCE "/examples/layer_norm/phases.yaml");
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
