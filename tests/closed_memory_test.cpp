#include "fa_profile/closed_memory.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>

namespace fa_profile::closed_memory_test {
namespace {

TEST(ClosedMemoryTest, MemoryStaysClosedUntilTheLastGuardEnds) {
  const int before = prctl(PR_GET_DUMPABLE);
  {
    const ClosedMemory of_job;
    { const ClosedMemory of_trial; }
    EXPECT_EQ(prctl(PR_GET_DUMPABLE), 0);
  }
  EXPECT_EQ(prctl(PR_GET_DUMPABLE), before);
}

}  // namespace
}  // namespace fa_profile::closed_memory_test
