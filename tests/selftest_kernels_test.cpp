#include "fa_profile/selftest_kernels.h"

#include <gtest/gtest.h>

#include <set>

namespace fa_profile::selftest_kernels_test {
namespace {

TEST(SelftestKernelsTest, AreListedWithoutAGpuUnderUniqueNames) {
  std::set<std::string> ids;
  for (const SelftestKernel& kernel : SelftestKernels()) {
    EXPECT_TRUE(ids.insert(kernel.id).second) << kernel.id << " is there twice";
    EXPECT_FALSE(kernel.proves.empty()) << kernel.id;
  }
  for (const char* id : {"hmma", "mufu_ex2", "threads_1", "threads_32", "conflict_1", "conflict_32", "load_stride_1",
                         "store_stride_8", "local_memory", "occupancy_4", "phases_98_1_1_full", "serial_phase",
                         "half_phase", "roles_producer_waits", "roles_mbarrier_consumers_wait"}) {
    EXPECT_TRUE(ids.contains(id)) << id;
  }
}

}  // namespace
}  // namespace fa_profile::selftest_kernels_test
