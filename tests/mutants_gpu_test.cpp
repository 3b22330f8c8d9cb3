// What the findings are tested on does what it says: mutants of rung 7 are correct attention, and every other one runs.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "fa_profile/kernels.h"
#include "gpu.h"

namespace fa_profile {
namespace {

class MmaMutantTest : public testing::TestWithParam<std::string> {};

TEST_P(MmaMutantTest, IsCorrectOverTheSuite) {
  const std::unique_ptr<Kernel> kernel =
      LoadKernelLibrary(std::string(FA_PROFILE_KERNEL_LIBS) + "/" + GetParam() + ".so");
  EXPECT_EQ(kernel->id(), GetParam());
  for (const SuiteShape& entry : CorrectnessSuite()) {
    const Verification v = Verify(*kernel, entry.shape, 1, 1);
    EXPECT_TRUE(v.correct()) << entry.shape.ToString() << ": error ratio " << v.max_error_ratio << ", " << v.nonfinite
                             << " not finite, " << v.unwritten << " unwritten " << v.error;
  }
  const AttentionShape large{4, 16, 1024, 64, false};
  EXPECT_TRUE(Verify(*kernel, large, 1, 1).correct()) << "with the larger tile";
}

INSTANTIATE_TEST_SUITE_P(Rung7, MmaMutantTest, testing::Values("mma_serial_softmax", "mma_conflicting_pv"),
                         [](const auto& test) { return test.param; });

class MutantProgramTest : public testing::TestWithParam<std::string> {};

TEST_P(MutantProgramTest, EveryMutantRuns) {
  EXPECT_EQ(std::system((std::string(FA_PROFILE_MUTANTS) + " " + GetParam()).c_str()), 0);  // NOLINT(cert-env33-c)
}

// The compiler leaves a trap where the product was (lint: code-is-a-trap): the launch fails.
TEST(MutantTrapTest, WmmaOnLocalMemoryIsATrap) {
  EXPECT_NE(std::system(FA_PROFILE_MUTANTS " wmma_on_local"), 0);  // NOLINT(cert-env33-c)
}

INSTANTIATE_TEST_SUITE_P(All, MutantProgramTest,
                         testing::Values("coalesced", "uncoalesced", "device_printf", "runtime_index", "spills",
                                         "tiny_grid", "mufu_bound", "occupancy_matters", "occupancy_is_enough"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace fa_profile
