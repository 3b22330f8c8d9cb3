// Names of kernels whose modules may be gone when their records come.
#include "fa_profile/launch_names.h"

#include <gtest/gtest.h>

#include <string>

namespace fa_profile::collect::launch_names_test {
namespace {

TEST(LaunchNamesTest, ANameOutlivesTheOneThatWasGiven) {
  LaunchNames names;
  EXPECT_EQ(names.NameOf(0), nullptr);
  std::string name = "first";
  names.OnLaunch(7, name.c_str());
  name = "other";
  names.OnLaunch(8, name.c_str());
  EXPECT_STREQ(names.NameOf(7), "first");
  EXPECT_STREQ(names.NameOf(8), "other");
  EXPECT_EQ(names.NameOf(9), nullptr) << "not seen";
}

TEST(LaunchNamesTest, EqualNamesAreOne) {
  LaunchNames names;
  names.OnLaunch(1, std::string("kernel").c_str());
  names.OnLaunch(2, std::string("kernel").c_str());
  EXPECT_EQ(names.NameOf(1), names.NameOf(2));
}

TEST(LaunchNamesTest, OldLaunchesAreForgottenNotMistaken) {
  LaunchNames names;
  names.OnLaunch(5, "old");
  names.OnLaunch(5 + LaunchNames::kSlots, "new");
  EXPECT_EQ(names.NameOf(5), nullptr);
  EXPECT_STREQ(names.NameOf(5 + LaunchNames::kSlots), "new");
}

}  // namespace
}  // namespace fa_profile::collect::launch_names_test
