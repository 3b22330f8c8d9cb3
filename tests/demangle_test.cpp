#include "fa_profile/demangle.h"

#include <gtest/gtest.h>

namespace fa_profile::demangle_test {
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

TEST(DemangleTest, QualifiedNameKeepsScopesAndLeavesOutArgumentsAtEveryLevel) {
  EXPECT_EQ(QualifiedName("void flash::fwd_kernel<128, true>(flash::Params const&)"), "flash::fwd_kernel");
  EXPECT_EQ(QualifiedName("void ns::Solver<double>::step<4>(int)"), "ns::Solver::step");
  EXPECT_EQ(QualifiedName("std::enable_if<(4) > (2), void>::type ns::k<float>(float*)"), "ns::k");
  EXPECT_EQ(QualifiedName("decltype ((f)((std::declval<int>)())) ns::k<int>(int)"), "ns::k");
  EXPECT_EQ(QualifiedName("main::{lambda(int)#1}::operator()(int) const"), "main::{lambda(int)#1}::operator()");
  EXPECT_EQ(QualifiedName("run(int)::Local::kernel(int)"), "run::Local::kernel");
  EXPECT_EQ(QualifiedName("fma_k(float*) [clone .kd]"), "fma_k");
}

TEST(DemangleTest, QualifiedNameCallsUnnamedScopesAnonymous) {
  EXPECT_EQ(QualifiedName("(anonymous namespace)::f(int)"), "anonymous::f");
  EXPECT_EQ(QualifiedName("void at::(anonymous namespace)::softmax<float>(float*)"), "at::anonymous::softmax");
  EXPECT_EQ(QualifiedName("_INTERNAL_1_k_cu_2::ns::(anonymous namespace)::f(float*)"), "ns::anonymous::f");
}

TEST(DemangleTest, QualifiedNameOfOperators) {
  EXPECT_EQ(QualifiedName("A<int>::operator+(A<int> const&) const"), "A::operator+");
  EXPECT_EQ(QualifiedName("std::ostream& ns::operator<< <int>(std::ostream&, A<int>)"), "ns::operator<<");
  EXPECT_EQ(QualifiedName("A<int>::operator std::vector<int>() const"), "A::operator std::vector<int>");
}

TEST(DemangleTest, QualifiedNameOfAnythingElseIsTheText) {
  EXPECT_EQ(QualifiedName("nvjet_sm90_hss_128x128"), "nvjet_sm90_hss_128x128");
  EXPECT_EQ(QualifiedName("fast attention v1"), "fast attention v1");
  EXPECT_EQ(QualifiedName("fast attention (v1)"), "fast attention (v1)");
  EXPECT_EQ(QualifiedName(""), "");
  EXPECT_EQ(QualifiedName("(((("), "((((");
}

TEST(DemangleTest, ABracketClosesOnlyItsOwnKind) {
  EXPECT_EQ(FunctionName("void ns::f<(A)(1 < 2), (3 > 2)>(int)"), "f<(A)(1 < 2), (3 > 2)>");
  EXPECT_EQ(FunctionName("void ns::f<ns::g<(7)>(2)>(int)"), "f<ns::g<(7)>(2)>");
}

}  // namespace
}  // namespace fa_profile::demangle_test
