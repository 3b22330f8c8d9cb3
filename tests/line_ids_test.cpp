#include "fa_profile/line_ids.h"

#include <gtest/gtest.h>

namespace fa_profile::line_ids_test {
namespace {

TEST(LineIdsTest, AnIdIsMadeOfNamesInFixedPlaces) {
  LineIds ids;
  EXPECT_EQ(ids.Next({"finding", "mma", "1,8,512,64", "", "softmax", "serial-softmax"}),
            "finding/mma/1,8,512,64/-/softmax/serial-softmax");
  EXPECT_EQ(ids.Next({"recording"}), "recording");
  EXPECT_EQ(ids.Next({}), "");
}

TEST(LineIdsTest, NamesCannotImitateOtherIds) {
  LineIds ids;
  EXPECT_EQ(ids.Next({"kernel", "a/b", ""}), "kernel/a%2Fb/-");
  EXPECT_EQ(ids.Next({"kernel", "a", "b"}), "kernel/a/b");
  EXPECT_EQ(ids.Next({"kernel", "-", "-x"}), "kernel/%2D/-x");
  EXPECT_EQ(ids.Next({"kernel", "100 %", "a#2\n\x7f"}), "kernel/100 %25/a%232%0A%7F");
}

TEST(LineIdsTest, BytesThatAreNotUtf8StayDifferent) {
  LineIds ids;
  EXPECT_EQ(ids.Next({"kernel", "a\xff"}), "kernel/a%FF");
  EXPECT_EQ(ids.Next({"kernel", "a\xfe\xc3\xa4"}), "kernel/a%FE\xc3\xa4");
  EXPECT_EQ(ids.Next({"kernel", std::string_view("\0", 1)}), "kernel/%00");
}

TEST(LineIdsTest, RepeatedIdsAreNumbered) {
  LineIds ids;
  EXPECT_EQ(ids.Next({"wait", "k"}), "wait/k");
  EXPECT_EQ(ids.Next({"wait", "k"}), "wait/k#2");
  EXPECT_EQ(ids.Next({"wait", "other"}), "wait/other");
  EXPECT_EQ(ids.Next({"wait", "k"}), "wait/k#3");
}

}  // namespace
}  // namespace fa_profile::line_ids_test
