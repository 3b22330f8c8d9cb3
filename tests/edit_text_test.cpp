#include "fa_profile/edit_text.h"

#include <gtest/gtest.h>

namespace fa_profile::edit_text_test {
namespace {

TEST(EditTextTest, EveryPlaceIsReplacedOnce) {
  EXPECT_EQ(Replaced("a-b-c", "-", "--"), "a--b--c");
  EXPECT_EQ(Replaced("aaa", "aa", "a"), "aa");
  EXPECT_EQ(Replaced("@NAME@ and @NAME@", "@NAME@", ""), " and ");
  EXPECT_EQ(Replaced("text", "", "x"), "text");
  EXPECT_EQ(Replaced("", "x", "y"), "");
}

TEST(EditTextTest, OnlyAsciiLettersChangeCase) {
  EXPECT_EQ(Upper("sm_90a \xC3\xA9"), "SM_90A \xC3\xA9");
  EXPECT_EQ(Lower("WMMA Kernel"), "wmma kernel");
}

}  // namespace
}  // namespace fa_profile::edit_text_test
