// Rung 8's variants, which are not on the ladder, over its correctness suite.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "attention_kernel.h"
#include "cuda_result.h"
#include "fa_profile/kernels.h"
#include "gpu.h"
#include "gpu_reference.h"
#include "hopper/variant.h"
#include "random_inputs.h"

namespace fa_profile {
namespace {

using hopper::Variant;

std::vector<Variant> VariantsOf(bool bf16) {
  std::vector<Variant> found;
  for (const auto& some : {hopper::ForwardVariants(), hopper::TuningVariants(), hopper::SplitVariants()}) {
    std::copy_if(some.begin(), some.end(), std::back_inserter(found),
                 [bf16](const Variant& variant) { return variant.bf16 == bf16; });
  }
  return found;
}

/// Skips every test on a GPU that cannot run the kernels.
class NeedsHopper final : public testing::Environment {
  void SetUp() override {
    int major = 0;
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) != cudaSuccess || major != 9) {
      GTEST_SKIP() << "no GPU here of compute capability 9.0";
    }
  }
};
[[maybe_unused]] testing::Environment* const kNeedsHopper = testing::AddGlobalTestEnvironment(new NeedsHopper);

bool Takes(const Variant& variant, const AttentionShape& shape) {
  if (shape.head_dim != variant.head_dim) return false;
  // The kernel that splits keys counts heads in its grid's second dimension.
  return variant.max_seqlen == 0 || (shape.seqlen <= variant.max_seqlen && shape.batch * shape.num_heads <= 65535);
}

AttentionKernel KernelOf(const Variant& variant) {
  KernelSpec spec;
  spec.id = variant.name;
  spec.origin = "ladder";
  spec.steps = {{variant.name, [variant](const AttentionParams& params, cudaStream_t stream) {
                   CheckCudaResult(variant.launch(params, stream), variant.name);
                 }}};
  spec.why_not = [variant](const AttentionShape& shape) {
    return Takes(variant, shape) ? std::string() : "not its shape";
  };
  spec.workspace_bytes = [](const AttentionShape&) { return std::size_t{0}; };
  return AttentionKernel(std::move(spec));
}

class HopperTest : public testing::TestWithParam<Variant> {};
class HopperBf16Test : public testing::TestWithParam<Variant> {};

TEST_P(HopperTest, IsCorrectOverTheSuite) {
  const AttentionKernel kernel = KernelOf(GetParam());
  for (const SuiteShape& entry : CorrectnessSuite()) {
    if (!Takes(GetParam(), entry.shape)) continue;
    const Verification v = Verify(kernel, entry.shape, entry.draws, 1);
    EXPECT_TRUE(v.correct()) << entry.shape.ToString() << ": " << v.draws_passed << " of " << v.draws
                             << " draws, error ratio " << v.max_error_ratio << ", " << v.nonfinite << " not finite, "
                             << v.unwritten << " unwritten " << v.error;
  }
}

TEST_P(HopperTest, RepeatingACallGivesTheSameBits) {
  const AttentionShape shape{2, 3, 500, GetParam().head_dim, true};
  const auto workload = KernelOf(GetParam()).MakeWorkload(shape, 5);
  const __half* const o = dynamic_cast<const AttentionWorkload&>(*workload).params().o;
  const auto bytes = static_cast<std::size_t>(shape.Elements()) * sizeof(__half);
  std::vector<char> first(bytes);
  std::vector<char> again(bytes);
  for (int call = 0; call < 20; ++call) {
    workload->Launch(nullptr);
    ASSERT_EQ(cudaMemcpy(again.data(), o, bytes, cudaMemcpyDefault), cudaSuccess);
    if (call == 0) first = again;
    ASSERT_EQ(std::memcmp(first.data(), again.data(), bytes), 0) << "call " << call;
  }
}

// Each call reads what the one before it wrote, and overwrites what that one read: a kernel that begins while the one
// before it ends must touch neither too early. Probabilities are sharp, so a wrong value stays wrong.
TEST_P(HopperTest, CallsThatFollowEachOtherGiveTheBitsOfCallsAlone) {
  constexpr int kCalls = 20;
  const int head_dim = GetParam().head_dim;
  for (const AttentionShape shape : {AttentionShape{1, 8, 512, head_dim, false}, {2, 16, 700, head_dim, true}}) {
    if (!Takes(GetParam(), shape)) continue;
    const auto workload = KernelOf(GetParam()).MakeWorkload(shape, 7);
    AttentionParams params = dynamic_cast<const AttentionWorkload&>(*workload).params();
    params.softmax_scale = 8.0F;
    const auto bytes = static_cast<std::size_t>(shape.Elements()) * sizeof(__half);
    const __half* const q = params.q;
    const DeviceBuffer buffers[] = {DeviceBuffer(bytes), DeviceBuffer(bytes)};
    const auto launch = [&](cudaStream_t stream, bool alone) {
      for (int call = 0; call < kCalls; ++call) {
        params.q = buffers[call % 2].as<__half>();
        params.o = buffers[1 - call % 2].as<__half>();
        EXPECT_EQ(GetParam().launch(params, stream), cudaSuccess);
        if (alone) {
          EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        }
      }
    };
    const auto result_of = [&](const std::function<void()>& calls) {
      std::vector<char> last(bytes);
      EXPECT_EQ(cudaMemcpy(buffers[0].as<void>(), q, bytes, cudaMemcpyDefault), cudaSuccess);
      calls();
      EXPECT_EQ(cudaMemcpy(last.data(), params.o, bytes, cudaMemcpyDefault), cudaSuccess);
      return last;
    };
    const std::vector<char> expected = result_of([&] { launch(nullptr, true); });
    // Inside a graph no call waits for the host.
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t chain = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    launch(stream, false);
    ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&chain, graph, 0), cudaSuccess);
    for (int again = 0; again < 5; ++again) {
      const std::vector<char> last = result_of([&] {
        EXPECT_EQ(cudaGraphLaunch(chain, stream), cudaSuccess);
        EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
      });
      EXPECT_EQ(std::memcmp(last.data(), expected.data(), bytes), 0) << shape.ToString() << ", again " << again;
    }
    EXPECT_EQ(cudaGraphExecDestroy(chain), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  }
}

float FloatOfBf16(std::uint16_t bits) {
  const std::uint32_t word = std::uint32_t{bits} << 16U;
  float x = 0.0F;
  std::memcpy(&x, &word, sizeof x);
  return x;
}

// Inputs whose last 3 bits are 0 are exact in both formats: the reference reads them as fp16, the kernel as bf16.
TEST_P(HopperBf16Test, IsCorrectWithinItsPrecision) {
  for (const AttentionShape shape :
       {AttentionShape{1, 8, 512, GetParam().head_dim, false}, AttentionShape{2, 3, 333, GetParam().head_dim, true}}) {
    const auto workload = KernelOf(GetParam()).MakeWorkload(shape, 9);
    AttentionParams params = dynamic_cast<const AttentionWorkload&>(*workload).params();
    const auto count = static_cast<std::size_t>(shape.Elements());
    std::vector<DeviceBuffer> copies;
    for (const __half** tensor : {&params.q, &params.k, &params.v}) {
      std::vector<std::uint16_t> bits(count);
      ASSERT_EQ(cudaMemcpy(bits.data(), *tensor, 2 * count, cudaMemcpyDefault), cudaSuccess);
      std::vector<std::uint16_t> bf16(count);
      for (std::size_t i = 0; i < count; ++i) {
        bits[i] &= 0xfff8U;
        __half_raw raw;
        raw.x = bits[i];
        const float x = __half2float(__half(raw));
        std::uint32_t word = 0;
        std::memcpy(&word, &x, sizeof word);
        bf16[i] = static_cast<std::uint16_t>(word >> 16U);
        ASSERT_EQ(FloatOfBf16(bf16[i]), x);
      }
      ASSERT_EQ(cudaMemcpy(const_cast<__half*>(*tensor), bits.data(), 2 * count, cudaMemcpyDefault), cudaSuccess);
      copies.emplace_back(2 * count);
      ASSERT_EQ(cudaMemcpy(copies.back().as<void>(), bf16.data(), 2 * count, cudaMemcpyDefault), cudaSuccess);
    }
    const DeviceBuffer reference(count * sizeof(double));
    GpuAttentionReference(params, reference.as<double>(), nullptr);
    params.q = copies[0].as<__half>();
    params.k = copies[1].as<__half>();
    params.v = copies[2].as<__half>();
    ASSERT_EQ(GetParam().launch(params, nullptr), cudaSuccess);
    std::vector<double> expected(count);
    std::vector<std::uint16_t> out(count);
    ASSERT_EQ(cudaMemcpy(expected.data(), reference.as<void>(), reference.bytes(), cudaMemcpyDefault), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(out.data(), params.o, 2 * count, cudaMemcpyDefault), cudaSuccess);
    double worst = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
      const double error = std::fabs(static_cast<double>(FloatOfBf16(out[i])) - expected[i]);
      worst = std::max(worst, error / (8e-3 + 8e-3 * std::fabs(expected[i])));
    }
    EXPECT_LE(worst, 1.0) << shape.ToString();
  }
}

const auto kNameOf = [](const auto& variant) { return std::string(variant.param.name); };
INSTANTIATE_TEST_SUITE_P(Variants, HopperTest, testing::ValuesIn(VariantsOf(false)), kNameOf);
INSTANTIATE_TEST_SUITE_P(Variants, HopperBf16Test, testing::ValuesIn(VariantsOf(true)), kNameOf);

}  // namespace
}  // namespace fa_profile
