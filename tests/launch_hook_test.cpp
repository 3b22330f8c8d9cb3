#include "fa_profile/launch_hook.h"

#include <gtest/gtest.h>

namespace fa_profile {
namespace {

TEST(LaunchHookTest, FunctionNameIsTheLastNameWithItsTemplateArguments) {
  EXPECT_EQ(FunctionName("void ns::(anonymous namespace)::Kernel<64, true>(ns::Params, int)"), "Kernel<64, true>");
  EXPECT_EQ(FunctionName("fma_k(float*)"), "fma_k");
  EXPECT_EQ(FunctionName("void (anonymous namespace)::softmax<float>(float const*)"), "softmax<float>");
  EXPECT_EQ(FunctionName("void at::native::elementwise<(int)4, at::Op<float> >(int, at::Op<float>)"),
            "elementwise<(int)4, at::Op<float> >");
  EXPECT_EQ(FunctionName("nvjet_sm90_hss_128x128_64x6_2x1_v_bz_TNT"), "nvjet_sm90_hss_128x128_64x6_2x1_v_bz_TNT");
  EXPECT_EQ(FunctionName(""), "");
  EXPECT_EQ(FunctionName("?"), "?");
  EXPECT_EQ(FunctionName("(((("), "((((");
}

}  // namespace
}  // namespace fa_profile
