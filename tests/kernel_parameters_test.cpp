#include "fa_profile/kernel_parameters.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test_files.h"

namespace fa_profile::kernel_parameters_test {
namespace {

const std::vector<KernelParameter> kParameters = {{"rows", 64, 1, 1000}, {"cols", 32, 1, 1000}, {"causal", 0, 0, 1}};

std::string Fitted(const std::string& asked) {
  const FittedShape fitted = FitParameters(kParameters, Shape::Parse(asked));
  return fitted.shape ? fitted.shape->ToString() : fitted.why_not;
}

TEST(KernelParametersTest, WithoutAShapeTheyHaveTheirOwnValues) {
  EXPECT_EQ(FitParameters(kParameters, {}).shape->ToString(), "rows=64,cols=32,causal=0");
  EXPECT_EQ(ToString(kParameters), "rows=64,cols=32,causal=0");
}

TEST(KernelParametersTest, WhatWasNotGivenKeepsItsValueAndTheOrderIsTheLibrarys) {
  EXPECT_EQ(Fitted("causal=1,rows=7"), "rows=7,cols=32,causal=1");
}

TEST(KernelParametersTest, AnUnknownNameIsAnErrorThatListsTheKnownOnes) {
  EXPECT_EQ(Fitted("row=7"), "it has no parameter 'row'; did you mean rows?; its parameters are rows, cols, causal");
  EXPECT_EQ(Fitted("zzzzzz=7"), "it has no parameter 'zzzzzz'; its parameters are rows, cols, causal");
}

TEST(KernelParametersTest, AValueOutsideItsBoundsIsRefusedWithThem) {
  EXPECT_EQ(Fitted("rows=0"), "its parameter 'rows' is 1 to 1000, not 0");
  EXPECT_EQ(Fitted("rows=1001"), "its parameter 'rows' is 1 to 1000, not 1001");
  EXPECT_EQ(Fitted("causal=-1"), "its parameter 'causal' is 0 to 1, not -1");
}

TEST(KernelParametersTest, AnAttentionShapeIsOfAnotherKind) {
  const FittedShape fitted = FitParameters(kParameters, AttentionShape{});
  EXPECT_TRUE(fitted.other_kind);
  EXPECT_FALSE(fitted.shape);
  EXPECT_TRUE(Contains(fitted.why_not, "rows=64,cols=32,causal=0"));
}

}  // namespace
}  // namespace fa_profile::kernel_parameters_test
