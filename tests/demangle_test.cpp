#include "fa_profile/demangle.h"

#include <gtest/gtest.h>

namespace fa_profile {
namespace {

TEST(DemangleTest, AnUnmangledNameIsUnchanged) {
  EXPECT_EQ(Demangle("_Z1fi"), "f(int)");
  EXPECT_EQ(Demangle("main"), "main");
  EXPECT_EQ(Demangle("f"), "f");  // a kernel, and no "float"
  EXPECT_EQ(Demangle("_Zwhat"), "_Zwhat");
  EXPECT_EQ(Demangle(""), "");
  EXPECT_EQ(Demangle(nullptr), "?");
}

TEST(DemangleTest, FunctionNameIsTheLastNameWithItsTemplateArguments) {
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

TEST(DemangleTest, BaseNameHasNoTemplateArguments) {
  EXPECT_EQ(BaseName("void fa_profile::(anonymous namespace)::softmax<float, 4>(float const*)"), "softmax");
  EXPECT_EQ(BaseName("_INTERNAL_1_k_cu_2::fa_profile::(anonymous namespace)::qk(float*)"), "qk");
  EXPECT_EQ(BaseName("auto ns::f<ns::g<1>(int)>(int)::h(float)"), "h");
  EXPECT_EQ(BaseName("sync"), "sync");
  EXPECT_EQ(BaseName(""), "");
}

TEST(DemangleTest, BaseNameOfOperatorsAndLambdas) {
  EXPECT_EQ(BaseName("A::operator+(A const&) const"), "operator+");
  EXPECT_EQ(BaseName("bool operator<(A const&, A const&)"), "operator<");
  EXPECT_EQ(BaseName("std::ostream& operator<< <int>(std::ostream&, A<int>)"), "operator<<");
  EXPECT_EQ(BaseName("bool A<int>::operator< <long>(long) const"), "operator<");
  EXPECT_EQ(BaseName("float* A::operator->() const"), "operator->");
  EXPECT_EQ(BaseName("A<int>::operator()(int) const"), "operator()");
  EXPECT_EQ(BaseName("A::operator bool() const"), "operator bool");
  EXPECT_EQ(BaseName("f(int)::{lambda(float)#1}::operator()(float) const"), "operator()");
}

}  // namespace
}  // namespace fa_profile
