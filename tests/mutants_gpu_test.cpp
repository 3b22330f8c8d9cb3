// The kernels that test the findings do what they claim: mutants of rung 7 are correct attention, and every other one
// runs.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "gpu.h"

namespace fa_profile {
namespace {

class MmaMutantTest : public testing::TestWithParam<std::string> {};

// The last shape has the larger tile.
TEST_P(MmaMutantTest, IsCorrectAtEveryLengthOfATile) {
  std::string command = FA_PROFILE_PROGRAM " verify --no-timing --draws 1 --kernel '^" + GetParam() +
                        "$' --kernel-lib " FA_PROFILE_KERNEL_LIBS "/" + GetParam() + ".so";
  for (const char* const head_dim : {"64", "128"}) {
    for (const char* const seqlen : {"1", "17", "65", "127", "333", "512"}) {
      for (const char* const causal : {"0", "1"}) {
        command += std::string(" --shape head_dim=") + head_dim + ",seqlen=" + seqlen + ",causal=" + causal;
      }
    }
  }
  command += " --shape batch=4,heads=16,seqlen=1024";
  EXPECT_EQ(std::system(command.c_str()), 0);  // NOLINT(cert-env33-c)
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
