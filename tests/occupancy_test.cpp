#include "fa_profile/occupancy.h"

#include <gtest/gtest.h>

#include <limits>

namespace fa_profile::analyze::occupancy_test {
namespace {

Device H200() {
  Device device;
  device.sm_count = 132;
  device.max_threads_per_sm = 2048;
  device.max_blocks_per_sm = 32;
  device.registers_per_sm = 65536;
  device.shared_memory_per_sm_bytes = 233472;
  device.reserved_shared_memory_per_block_bytes = 1024;
  return device;
}

/// The L4: 48 warps and 24 blocks on an SM, 100 KiB of shared memory.
Device L4() {
  Device device = H200();
  device.sm_count = 58;
  device.max_threads_per_sm = 1536;
  device.max_blocks_per_sm = 24;
  device.shared_memory_per_sm_bytes = 102400;
  return device;
}

Launch MakeLaunch(int threads, int registers, std::int64_t shared_bytes, int blocks = 132) {
  Launch launch;
  launch.grid = {blocks, 1, 1};
  launch.block = {threads, 1, 1};
  launch.registers_per_thread = registers;
  launch.dynamic_shared_memory_bytes = shared_bytes;
  return launch;
}

using Limiters = std::vector<std::string>;

struct Row {
  const char* name;
  Device device;
  Launch launch;
  int blocks_per_sm;
  double ratio;
  Limiters limiters;
};

// By the CUDA occupancy calculator's rules.
TEST(OccupancyTest, AgreesWithTheTableOfKnownLaunches) {
  const Row rows[] = {
      {"small block: all resources to spare", H200(), MakeLaunch(256, 16, 0), 8, 1.0, {"warps"}},
      {"32 registers fill the file exactly", H200(), MakeLaunch(256, 32, 0), 8, 1.0, {"warps", "registers"}},
      {"33 registers are allocated as 40", H200(), MakeLaunch(256, 33, 0), 6, 0.75, {"registers"}},
      {"168 registers", H200(), MakeLaunch(384, 168, 0), 1, 12.0 / 64, {"registers"}},
      {"255 registers", H200(), MakeLaunch(128, 255, 0), 2, 8.0 / 64, {"registers"}},
      {"one warp per block: the block limit", H200(), MakeLaunch(32, 32, 0), 32, 0.5, {"blocks"}},
      {"99 KiB of shared memory", H200(), MakeLaunch(128, 64, 101376), 2, 8.0 / 64, {"shared memory"}},
      {"227 KiB, all a block can have", H200(), MakeLaunch(384, 64, 232448), 1, 12.0 / 64, {"shared memory"}},
      {"33 threads take two warps", H200(), MakeLaunch(33, 16, 0), 32, 1.0, {"warps", "blocks"}},
      {"1024 threads", H200(), MakeLaunch(1024, 64, 0), 1, 0.5, {"registers"}},
      {"1536 threads an SM: 1024 leave a third idle", L4(), MakeLaunch(1024, 32, 0), 1, 2.0 / 3, {"warps"}},
      {"one warp per block on an L4", L4(), MakeLaunch(32, 32, 0), 24, 0.5, {"blocks"}},
      {"48 KiB on an L4", L4(), MakeLaunch(256, 40, 49152), 2, 1.0 / 3, {"shared memory"}},
  };
  for (const Row& row : rows) {
    const auto occupancy = TheoreticalOccupancy(row.device, row.launch);
    ASSERT_TRUE(occupancy) << row.name;
    EXPECT_EQ(occupancy->blocks_per_sm, row.blocks_per_sm) << row.name;
    EXPECT_DOUBLE_EQ(occupancy->theoretical_ratio, row.ratio) << row.name;
    EXPECT_EQ(occupancy->limiters, row.limiters) << row.name;
  }
}

// launch__occupancy_limit_{warps,blocks,registers,shared_mem} and launch__waves_per_multiprocessor as Nsight Compute
// 2025.3.1 gave them for two kernels on an H200: grid 264, block 256; 16 registers and no shared memory, 25 registers
// and 4 KiB. Its limits by shared memory were 32 and 20, of the carve-outs it saw (32 KiB and 100 KiB); ours are of the
// most that an SM can give, and no limit there.
TEST(OccupancyTest, LimitsAgreeWithNsightComputeOnTwoKernels) {
  Launch plain = MakeLaunch(256, 16, 0, 264);
  OccupancyLimits limits = BlocksPerSm(H200(), plain);
  EXPECT_EQ(limits.warps, 8);
  EXPECT_EQ(limits.blocks, 32);
  EXPECT_EQ(limits.registers, 16);
  EXPECT_EQ(limits.shared_memory, 228);
  EXPECT_DOUBLE_EQ(TheoreticalOccupancy(H200(), plain)->waves, 0.25);

  Launch shared = MakeLaunch(256, 25, 0, 264);
  shared.static_shared_memory_bytes = 4096;
  limits = BlocksPerSm(H200(), shared);
  EXPECT_EQ(limits.warps, 8);
  EXPECT_EQ(limits.blocks, 32);
  EXPECT_EQ(limits.registers, 8);
  EXPECT_EQ(limits.shared_memory, 45);
  EXPECT_DOUBLE_EQ(TheoreticalOccupancy(H200(), shared)->waves, 0.25);
}

TEST(OccupancyTest, WavesCountTheWholeGrid) {
  Launch launch = MakeLaunch(1024, 32, 0);
  launch.grid = {100000, 50000, 1};
  EXPECT_DOUBLE_EQ(TheoreticalOccupancy(H200(), launch)->waves, 5e9 / (2 * 132));
}

TEST(OccupancyTest, UnknownInputsGiveNoOccupancy) {
  EXPECT_FALSE(TheoreticalOccupancy(Device{}, MakeLaunch(128, 32, 0)));
  EXPECT_FALSE(TheoreticalOccupancy(H200(), Launch{}));
  EXPECT_FALSE(TheoreticalOccupancy(H200(), MakeLaunch(128, 0, 0)));
  Device no_sms = H200();
  no_sms.sm_count = 0;
  EXPECT_FALSE(TheoreticalOccupancy(no_sms, MakeLaunch(128, 32, 0)));
}

TEST(OccupancyTest, ABlockThatDoesNotFitHasNoOccupancy) {
  EXPECT_FALSE(TheoreticalOccupancy(H200(), MakeLaunch(128, 32, 1 << 20)));
  EXPECT_FALSE(TheoreticalOccupancy(H200(), MakeLaunch(1024, 255, 0)));
  EXPECT_FALSE(TheoreticalOccupancy(H200(), MakeLaunch(2048, 32, 0)));
}

TEST(OccupancyTest, HugeInputsDoNotOverflow) {
  constexpr int kMax = std::numeric_limits<int>::max();
  Launch launch = MakeLaunch(128, 32, std::numeric_limits<std::int64_t>::max());
  launch.static_shared_memory_bytes = std::numeric_limits<std::int64_t>::max();
  launch.grid = {kMax, kMax, kMax};
  EXPECT_FALSE(TheoreticalOccupancy(H200(), launch));
  launch.block = {kMax, kMax, kMax};
  EXPECT_FALSE(TheoreticalOccupancy(H200(), launch));
  launch.block = {-128, -1, 1};
  EXPECT_FALSE(TheoreticalOccupancy(H200(), launch));
  Device device = H200();
  device.warp_size = kMax;
  EXPECT_FALSE(TheoreticalOccupancy(device, MakeLaunch(128, kMax, 0)));
}

}  // namespace
}  // namespace fa_profile::analyze::occupancy_test
