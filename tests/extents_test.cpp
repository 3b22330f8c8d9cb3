#include "fa_profile/extents.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fa_profile/error.h"
#include "test_files.h"

namespace fa_profile::extents_test {
namespace {

using Extents = std::vector<std::int64_t>;

const std::vector<ShapeParameter> kParameters = {{"m", 100}, {"k", 17}, {"zero", 0}, {"big", std::int64_t{1} << 62}};

std::string WhyNot(const std::string& text) {
  try {
    (void)ExtentsOf(text, kParameters);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(ExtentsTest, AreExpressionsOfTheParameters) {
  EXPECT_EQ(ExtentsOf("m", kParameters), (Extents{100}));
  EXPECT_EQ(ExtentsOf("m,k", kParameters), (Extents{100, 17}));
  EXPECT_EQ(ExtentsOf(" m + 1 , 2 * ( k - 1 ) ", kParameters), (Extents{101, 32}));
  EXPECT_EQ(ExtentsOf("(k+15)/16*16", kParameters), (Extents{32}));
  EXPECT_EQ(ExtentsOf("m-k-3", kParameters), (Extents{80}));
  EXPECT_EQ(ExtentsOf("1+2*3", kParameters), (Extents{7}));
  EXPECT_EQ(ExtentsOf("10+(0-k)/2", kParameters), (Extents{1})) << "to the next lower number";
}

TEST(ExtentsTest, ABadTextIsQuotedWithTheReason) {
  EXPECT_TRUE(Contains(WhyNot("m,kk"), "'m,kk' names 'kk', which is not a parameter"));
  EXPECT_TRUE(Contains(WhyNot("m,"), "ends where a number should be"));
  EXPECT_TRUE(Contains(WhyNot(""), "ends where a number should be"));
  EXPECT_TRUE(Contains(WhyNot("m k"), "where an operator or a comma should be"));
  EXPECT_TRUE(Contains(WhyNot("(m"), "lacks a ')'"));
  EXPECT_TRUE(Contains(WhyNot("*m"), "lacks a number"));
  EXPECT_TRUE(Contains(WhyNot("1m"), "bad number 1m"));
  EXPECT_TRUE(Contains(WhyNot("99999999999999999999"), "bad number"));
  EXPECT_TRUE(Contains(WhyNot("1,1,1,1,1,1,1,1,1"), "more than 8 extents"));
}

TEST(ExtentsTest, ASizeThatNoTensorHasIsRefused) {
  EXPECT_TRUE(Contains(WhyNot("zero"), "the extent 0"));
  EXPECT_TRUE(Contains(WhyNot("m-m-1"), "the extent -1"));
  EXPECT_TRUE(Contains(WhyNot("m/zero"), "divides by zero"));
  EXPECT_TRUE(Contains(WhyNot("big*m"), "beyond 64 bits"));
  EXPECT_TRUE(Contains(WhyNot("big+big"), "beyond 64 bits"));
  EXPECT_TRUE(Contains(WhyNot("(0-big-big)/(0-1)"), "beyond 64 bits"));
  EXPECT_TRUE(Contains(WhyNot("0-big-big-1"), "beyond 64 bits"));
  EXPECT_TRUE(Contains(WhyNot("big"), "more than 2^40 elements"));
  EXPECT_TRUE(Contains(WhyNot("big,big,big"), "more than 2^40 elements"));
}

TEST(ExtentsTest, DeepNestingIsRead) {
  const std::string deep = std::string(120, '(') + "m" + std::string(120, ')');
  EXPECT_EQ(ExtentsOf(deep, kParameters), (Extents{100}));
}

TEST(ExtentsTest, APlaceIsTheIndexInEveryDimension) {
  const Extents extents = {2, 3, 4};
  EXPECT_EQ(ElementsOf(extents), 24);
  EXPECT_EQ(PlaceOf(0, extents), "[0,0,0]");
  EXPECT_EQ(PlaceOf(23, extents), "[1,2,3]");
  EXPECT_EQ(PlaceOf(5, Extents{9}), "[5]");
}

}  // namespace
}  // namespace fa_profile::extents_test
