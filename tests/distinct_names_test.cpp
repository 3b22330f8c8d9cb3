#include "fa_profile/distinct_names.h"

#include <gtest/gtest.h>

namespace fa_profile::distinct_names_test {
namespace {

using Labels = std::map<std::string, std::string>;

TEST(DistinctNamesTest, ArgumentsThatDifferAreShownAtAnyDepth) {
  const std::string half = "void flash::fwd<flash::Traits<64, 128, cutlass::half_t>, false, true>(flash::Params)";
  const std::string bf16 = "void flash::fwd<flash::Traits<64, 128, cutlass::bfloat16_t>, false, false>(flash::Params)";
  const std::string wide = "void flash::fwd<flash::Traits<96, 128, cutlass::half_t>, false, true>(flash::Params)";
  EXPECT_EQ(DistinctNames({half, bf16, wide}),
            (Labels{{half, "fwd<64,half_t,true>"}, {bf16, "fwd<64,bfloat16_t,false>"}, {wide, "fwd<96,half_t,true>"}}));
}

TEST(DistinctNamesTest, AnArgumentThatRepeatsAnotherIsLeftOut) {
  EXPECT_EQ(DistinctNames({"void f<A<1, 7>, B<1> >()", "void f<A<2, 7>, B<2> >()"}),
            (Labels{{"void f<A<1, 7>, B<1> >()", "f<1>"}, {"void f<A<2, 7>, B<2> >()", "f<2>"}}));
}

TEST(DistinctNamesTest, TypesOfOtherTemplatesAreShownWhole) {
  EXPECT_EQ(DistinctNames({"void f<ns::A<1>, 0>()", "void f<ns::B<ns::C<2>, 3>, 0>()"}),
            (Labels{{"void f<ns::A<1>, 0>()", "f<A<1>>"}, {"void f<ns::B<ns::C<2>, 3>, 0>()", "f<B<C<2>,3>>"}}));
}

TEST(DistinctNamesTest, AShellsOnlyArgumentGivesTheName) {
  const std::string forward = "void cutlass::device_kernel<flash::Forward<cute::C<64>, true> >(Params)";
  const std::string wide = "void cutlass::device_kernel<flash::Forward<cute::C<128>, true> >(Params)";
  const std::string combine = "void cutlass::device_kernel<flash::Combine<8> >(Params)";
  EXPECT_EQ(DistinctNames({forward, wide, combine}),
            (Labels{{forward, "Forward<64>"}, {wide, "Forward<128>"}, {combine, "Combine"}}));
}

TEST(DistinctNamesTest, OneKernelAloneAndPlainNamesHaveNoArguments) {
  EXPECT_EQ(DistinctNames({"void f<1, 2>(int)", "g(float*)", "triton_kernel", "void f<1, 2>(int)"}),
            (Labels{{"void f<1, 2>(int)", "f"}, {"g(float*)", "g"}, {"triton_kernel", "triton_kernel"}}));
}

TEST(DistinctNamesTest, AnyTextHasALabel) {
  const std::string deep = "void f<" + std::string(100'000, '<') + ">()";
  const std::string nested = [] {
    std::string text = "int";
    for (int i = 0; i < 1000; ++i) text = "A<" + text + ">";
    return "void f<" + text + ">()";
  }();
  for (const std::string& name : {std::string(), std::string("<"), std::string("f<>"), std::string("f<,>"),
                                  std::string("a<b>::c<d>"), std::string("f<(a > b)>"), deep, nested}) {
    EXPECT_EQ(DistinctNames({name, "other"}).size(), 2U) << name.substr(0, 40);
  }
}

}  // namespace
}  // namespace fa_profile::distinct_names_test
