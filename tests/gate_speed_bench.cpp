// How fast the gate judges. Times are the machine's, too: so this is a benchmark, and no test.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "fa_profile/gate_statistics.h"
#include "gate_scenario.h"

namespace fa_profile {
namespace {

template <typename Work>
double Milliseconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

TEST(GateSpeedBench, AHundredPermutationTestsOfFourteenBlocksTakeLessThan100Milliseconds) {
  std::vector<gate::ProcessBlock> pairs;
  for (int i = 0; i < 14; ++i) pairs.push_back({0.01 * (i % 5 - 1) + 0.001 * i, 0.0, 0.002 * (i % 3)});
  const double took = Milliseconds([&] {
    for (int i = 0; i < 100; ++i) EXPECT_GT(gate::PermutationP(pairs), 0.0);
  });
  std::printf("100 permutation tests of 14 blocks: %.2f ms\n", took);
  EXPECT_LT(took, 100.0)
      << "half sums take tens of us a call; a thousand times as much is what the trials could not pay";
}

TEST(GateSpeedBench, SixtyCasesAreJudgedInLessThanASecond) {
  Scenario scenario;
  for (int i = 1; i < 60; ++i) scenario.AddCase("k" + std::to_string(i));
  scenario.Time(8, std::vector<Effect>(60));
  scenario.Time(14, std::vector<Effect>(60), 2);
  const double took = Milliseconds([&] { EXPECT_EQ(scenario.Judged().cases.size(), 60u); });
  std::printf("60 cases judged: %.2f ms\n", took);
  EXPECT_LT(took, 1000.0);
}

}  // namespace
}  // namespace fa_profile
