#include "attention_library.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "attention_reference.h"

namespace fa_profile::attention_library_test {
namespace {

int Nothing(const fa_profile_call*, char*, size_t) { return 0; }
const fa_profile_kernel kKernel =
    AttentionLibrary::Describe("nothing", AttentionLibrary::kParameters, Nothing, Nothing);

class AttentionLibraryTest : public testing::TestWithParam<bool> {};

TEST_P(AttentionLibraryTest, ItsReferenceIsThatOfTheLadder) {
  const AttentionShape shape{2, 3, 37, 8, GetParam()};
  const std::int64_t parameters[] = {shape.batch, shape.num_heads, shape.seqlen, shape.head_dim, shape.causal ? 1 : 0};
  std::vector<std::vector<float>> inputs(3);
  std::vector<std::vector<double>> values(AttentionLibrary::kTensorCount);
  for (std::size_t tensor = 0; tensor < values.size(); ++tensor) {
    for (std::int64_t i = 0; i < shape.Elements(); ++i) {
      const auto value = static_cast<float>(std::sin(0.7 * static_cast<double>(i) + static_cast<double>(tensor)));
      if (tensor < inputs.size()) inputs[tensor].push_back(value);
      values[tensor].push_back(value);
    }
  }
  std::vector<double*> pointers;
  for (std::vector<double>& tensor : values) pointers.push_back(tensor.data());
  ASSERT_EQ(kKernel.reference(parameters, pointers.data(), nullptr, 0), 0);
  const std::vector<double> expected = AttentionReference(shape, inputs[0], inputs[1], inputs[2]);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(values[AttentionLibrary::kO][i], expected[i], 1e-12) << i;
  }
  fa_profile_work work{};
  kKernel.work(parameters, &work);
  EXPECT_DOUBLE_EQ(work.flops, shape.Flops());
}

INSTANTIATE_TEST_SUITE_P(Masks, AttentionLibraryTest, testing::Bool());

TEST(AttentionLibraryParametersTest, WithoutPointersACallHasItsShape) {
  const std::int64_t parameters[] = {2, 3, 37, 64, 1};
  fa_profile_call call{};
  call.parameters = parameters;
  const AttentionParams params = AttentionLibrary::ParamsOf(call);
  EXPECT_EQ(params.num_heads, 3);
  EXPECT_TRUE(params.causal);
  EXPECT_FLOAT_EQ(params.softmax_scale, 0.125F);
  EXPECT_EQ(params.q, nullptr);
}

}  // namespace
}  // namespace fa_profile::attention_library_test
