// The self-test's kernels run, and their own clocks say what their names say. (Whether a profiler agrees is the
// self-test's business.)
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/selftest_kernels.h"
#include "gpu.h"

namespace fa_profile {
namespace {

const SelftestKernel& Find(const std::string& id) {
  for (const SelftestKernel& kernel : SelftestKernels()) {
    if (kernel.id == id) return kernel;
  }
  throw Error("there is no self-test kernel '" + id + "'");
}

std::vector<std::string> Ids() {
  std::vector<std::string> ids;
  for (const SelftestKernel& kernel : SelftestKernels()) ids.push_back(kernel.id);
  return ids;
}

class SelftestKernelTest : public testing::TestWithParam<std::string> {};

// {"time_share" -> {"alpha" -> 0.5}}
std::map<std::string, std::map<std::string, double>> Shares(const SelftestRun& run) {
  std::map<std::string, std::map<std::string, double>> shares;
  for (const Truth& truth : run.truths) {
    if (truth.source == TruthSource::kShare) shares[truth.name][truth.phase] = truth.expected;
  }
  return shares;
}

TEST_P(SelftestKernelTest, CanBeLaunchedRepeatedly) {
  const SelftestRun run = Find(GetParam()).make();
  ASSERT_FALSE(run.truths.empty());
  EXPECT_FALSE(run.workload->shape().has_value());
  ASSERT_EQ(run.workload->parts().size(), 1U);
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  ASSERT_EQ(cudaEventCreate(&begin), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&end), cudaSuccess);
  run.workload->Launch(nullptr);
  ASSERT_EQ(cudaEventRecord(begin), cudaSuccess);
  run.workload->LaunchPart(0, nullptr);
  ASSERT_EQ(cudaEventRecord(end), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  float milliseconds = 0.0F;
  ASSERT_EQ(cudaEventElapsedTime(&milliseconds, begin, end), cudaSuccess);
  std::printf("%s: %.1f us\n", GetParam().c_str(), 1e3 * static_cast<double>(milliseconds));
  for (const auto& [name, by_phase] : Shares(run)) {
    double sum = 0.0;
    for (const auto& [phase, share] : by_phase) {
      std::printf("  %-16s %-6s %6.2f %%\n", name.c_str(), phase.c_str(), 100 * share);
      EXPECT_GE(share, 0.0);
      sum += share;
    }
    EXPECT_NEAR(sum, 1.0, 1e-9) << name;
  }
  EXPECT_EQ(cudaEventDestroy(begin), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(end), cudaSuccess);
}

INSTANTIATE_TEST_SUITE_P(All, SelftestKernelTest, testing::ValuesIn(Ids()),
                         [](const auto& test) { return test.param; });

// Where many warps contend (..._full), what one phase takes depends on the others, and the name is only a name.
class PhaseTargetTest : public testing::TestWithParam<std::pair<const char*, std::array<double, 3>>> {};

TEST_P(PhaseTargetTest, PhaseSharesAreNearTheirTargets) {
  const auto& [id, target] = GetParam();
  const SelftestRun run = Find(id).make();
  auto shares = Shares(run)["time_share"];
  constexpr double near = 0.03;
  EXPECT_NEAR(shares["alpha"], target[0], near);
  EXPECT_NEAR(shares["beta"], target[1], near);
  EXPECT_NEAR(shares["gamma"], target[2], near);
}

using Target = std::pair<const char*, std::array<double, 3>>;
INSTANTIATE_TEST_SUITE_P(
    All, PhaseTargetTest,
    testing::Values(Target{"phases_50_30_20", {0.50, 0.30, 0.20}}, Target{"phases_98_1_1", {0.98, 0.01, 0.01}},
                    Target{"phases_33_33_33", {0.33, 0.33, 0.33}}, Target{"phases_10_80_10", {0.10, 0.80, 0.10}},
                    Target{"serial_phase", {0.30, 0.50, 0.20}}, Target{"half_phase", {0.30, 0.50, 0.20}}),
    [](const auto& test) { return std::string(test.param.first); });

// Where one thread works, three warps of four and most of the fourth wait: half of the wall time is 3/8 of the
// warp-time.
TEST(SerialPhaseTest, OtherWarpsWaitForTheSerialPhase) {
  const SelftestRun run = Find("serial_phase").make();
  auto shares = Shares(run);
  const double wall = shares["time_share"]["beta"];
  EXPECT_NEAR(shares["warp_time_share"]["beta"], wall / 4, 0.01);
  EXPECT_NEAR(shares["warp_time_share"]["sync"], wall * 3 / 4, 0.02);
}

}  // namespace
}  // namespace fa_profile
