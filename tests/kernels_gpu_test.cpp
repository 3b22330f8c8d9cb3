#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "attention_reference.h"
#include "attention_workload.h"
#include "fa_profile/error.h"
#include "fa_profile/kernels.h"
#include "gpu.h"
#include "gpu_reference.h"

namespace fa_profile {
namespace {

constexpr AttentionShape kMission{1, 8, 512, 64, false};

std::vector<float> ToHost(const __half* device, std::size_t count) {
  std::vector<__half> half(count);
  EXPECT_EQ(cudaMemcpy(half.data(), device, count * sizeof(__half), cudaMemcpyDefault), cudaSuccess);
  std::vector<float> result;
  for (const __half x : half) result.push_back(__half2float(x));
  return result;
}

std::unique_ptr<Workload> Make(const AttentionShape& shape, std::uint64_t seed) {
  return Ladder().front()->MakeWorkload(shape, seed);
}

const AttentionParams& Params(const Workload& workload) {
  return dynamic_cast<const AttentionWorkload&>(workload).params();
}

class RungTest : public testing::TestWithParam<const Kernel*> {};

TEST_P(RungTest, IsCorrectOverTheSuite) {
  for (const SuiteShape& entry : CorrectnessSuite()) {
    const Verification v = Verify(*GetParam(), entry.shape, entry.draws, 1);
    EXPECT_TRUE(v.correct()) << entry.shape.ToString() << ": " << v.draws_passed << " of " << v.draws
                             << " draws, error ratio " << v.max_error_ratio << ", " << v.nonfinite << " not finite, "
                             << v.unwritten << " unwritten " << v.error;
  }
}

// This lets a collector replay one part once per pass.
TEST_P(RungTest, RepeatingAPartGivesTheSameResult) {
  const auto workload = GetParam()->MakeWorkload(kMission, 5);
  workload->Launch(nullptr);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const std::vector<float> once = ToHost(Params(*workload).o, kMission.Elements());
  for (std::size_t part = 0; part < workload->parts().size(); ++part) {
    workload->LaunchPart(part, nullptr);
    workload->LaunchPart(part, nullptr);
  }
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(ToHost(Params(*workload).o, kMission.Elements()), once);
}

TEST_P(RungTest, CanBeCapturedIntoAGraph) {
  const auto workload = GetParam()->MakeWorkload(kMission, 5);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  workload->Launch(stream);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  workload->Launch(stream);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  std::size_t nodes = 0;
  ASSERT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_GE(nodes, workload->parts().size());
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

INSTANTIATE_TEST_SUITE_P(Ladder, RungTest, testing::ValuesIn(Ladder()),
                         [](const auto& rung) { return rung.param->id(); });

TEST(GpuReferenceTest, AgreesWithTheReferenceOnTheCpu) {
  for (const AttentionShape shape : {AttentionShape{2, 2, 77, 64, false}, AttentionShape{1, 3, 130, 128, true},
                                     AttentionShape{1, 1, 1, 64, true}, AttentionShape{2, 1, 40, 64, true}}) {
    const auto workload = Make(shape, 3);
    const AttentionParams& p = Params(*workload);
    const auto count = static_cast<std::size_t>(shape.Elements());
    const DeviceBuffer out(count * sizeof(double));
    GpuAttentionReference(p, out.as<double>(), nullptr);
    std::vector<double> gpu(count);
    ASSERT_EQ(cudaMemcpy(gpu.data(), out.as<double>(), out.bytes(), cudaMemcpyDefault), cudaSuccess);
    const std::vector<double> cpu =
        AttentionReference(shape, ToHost(p.q, count), ToHost(p.k, count), ToHost(p.v, count));
    double worst = 0.0;
    for (std::size_t i = 0; i < count; ++i) worst = std::max(worst, std::fabs(gpu[i] - cpu[i]));
    EXPECT_LT(worst, 1e-13) << shape.ToString();
  }
}

TEST(WorkloadTest, InputsAreNormallyDistributedAndDependOnTensorAndSeed) {
  const auto workload = Make(kMission, 11);
  const auto count = static_cast<std::size_t>(kMission.Elements());
  const std::vector<float> q = ToHost(Params(*workload).q, count);
  const std::vector<float> k = ToHost(Params(*workload).k, count);
  const std::vector<float> other = ToHost(Params(*Make(kMission, 12)).q, count);
  double sum = 0.0;
  double squares = 0.0;
  double with_k = 0.0;
  double with_other = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += q[i];
    squares += q[i] * q[i];
    with_k += q[i] * k[i];
    with_other += q[i] * other[i];
  }
  const auto n = static_cast<double>(count);
  const double five_sigma = 5.0 / std::sqrt(n);
  EXPECT_NEAR(sum / n, 0.0, five_sigma);
  EXPECT_NEAR(squares / n, 1.0, five_sigma * std::sqrt(2.0));
  EXPECT_NEAR(with_k / n, 0.0, five_sigma);
  EXPECT_NEAR(with_other / n, 0.0, five_sigma);
  EXPECT_EQ(ToHost(Params(*Make(kMission, 11)).q, count), q);
}

TEST(WorkloadTest, TooLargeAShapeIsAnErrorAndLeavesTheDeviceUsable) {
  // Rung 4 keeps every score: 6 bytes for each of 2^40.
  EXPECT_THROW(Ladder()[3]->MakeWorkload({1, 16, 262144, 64, false}, 1), Error);
  EXPECT_TRUE(Verify(*Ladder().front(), {1, 1, 64, 64, false}, 1, 1).correct());
}

}  // namespace
}  // namespace fa_profile
