#include "fa_profile/shape.h"

#include <gtest/gtest.h>

#include <string>

#include "fa_profile/error.h"
#include "test_files.h"

namespace fa_profile::shape_test {
namespace {

std::string WhyNot(const std::string& text, bool causal = false) {
  try {
    (void)Shape::Parse(text, causal);
  } catch (const Error& error) {
    EXPECT_FALSE(error.hint().empty());
    return error.message();
  }
  return "";
}

TEST(ShapeTest, FourNumbersAreAnAttentionShape) {
  const Shape shape = Shape::Parse("2,4,128,64", true);
  ASSERT_NE(shape.attention(), nullptr);
  EXPECT_EQ(*shape.attention(), (AttentionShape{2, 4, 128, 64, true}));
  EXPECT_EQ(shape.parameters(), nullptr);
  EXPECT_EQ(shape.ToString(), "2,4,128,64 causal");
  EXPECT_EQ(Shape::Parse(shape.ToString()), shape);
  EXPECT_EQ(Shape(), AttentionShape());
}

TEST(ShapeTest, ATextWithAnEqualsSignHasParameters) {
  const Shape shape = Shape::Parse("m=4096,n_1=-7,K=0");
  ASSERT_NE(shape.parameters(), nullptr);
  EXPECT_EQ(shape.attention(), nullptr);
  EXPECT_EQ(shape.parameters()->at(1), (ShapeParameter{"n_1", -7}));
  EXPECT_EQ(shape.ToString(), "m=4096,n_1=-7,K=0");
  EXPECT_EQ(Shape::Parse(shape.ToString()), shape);
  EXPECT_NE(shape, Shape());
}

TEST(ShapeTest, WhatIsNotOneIsRefusedWithAnExample) {
  EXPECT_TRUE(Contains(WhyNot("m=1,n"), "an item without '='"));
  EXPECT_TRUE(Contains(WhyNot("m=1,"), "an item without '='"));
  EXPECT_TRUE(Contains(WhyNot("=1"), "without a name"));
  EXPECT_TRUE(Contains(WhyNot("1m=1"), "without a name"));
  EXPECT_TRUE(Contains(WhyNot("m n=1"), "without a name"));
  EXPECT_TRUE(Contains(WhyNot(std::string(33, 'm') + "=1"), "without a name"));
  EXPECT_TRUE(Contains(WhyNot("m="), "value of 'm'"));
  EXPECT_TRUE(Contains(WhyNot("m=1.5"), "value of 'm'"));
  EXPECT_TRUE(Contains(WhyNot("m=1 "), "value of 'm'"));
  EXPECT_TRUE(Contains(WhyNot("m=9223372036854775808"), "below 2^63"));
  EXPECT_TRUE(Contains(WhyNot("m=1,m=2"), "names 'm' twice"));
  EXPECT_TRUE(Contains(WhyNot("m=1", true), "--causal"));
  EXPECT_TRUE(Contains(WhyNot("1,2,3"), "four whole numbers"));
  std::string many = "p0=1";
  for (int i = 1; i < 33; ++i) many += ",p" + std::to_string(i) + "=1";
  EXPECT_TRUE(Contains(WhyNot(many), "too many parameters"));
}

TEST(ShapeTest, AHostileTextIsCutShortAndPrintable) {
  const std::string why = WhyNot("m=\x1b[31m" + std::string(100'000, 'x'));
  EXPECT_LT(why.size(), 1000U);
  EXPECT_FALSE(Contains(why, "\x1b"));
}

}  // namespace
}  // namespace fa_profile::shape_test
