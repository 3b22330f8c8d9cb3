// How a program's GPU work is added up, on records made by hand.
#include "fa_profile/program_totals.h"

#include <gtest/gtest.h>

#include <string>

namespace fa_profile::collect {
namespace {

GpuWork Kernel(const char* name, std::int64_t start_ns, std::int64_t end_ns, int grid = 1) {
  GpuWork work;
  work.name = name;
  work.grid = {grid, 1, 1};
  work.block = {128, 1, 1};
  work.start_ns = start_ns;
  work.end_ns = end_ns;
  return work;
}

GpuWork Copy(std::int64_t bytes, std::int64_t start_ns, std::int64_t end_ns) {
  GpuWork work;
  work.kind = GpuWork::Kind::kCopy;
  work.name = "copy host to device";
  work.bytes = bytes;
  work.start_ns = start_ns;
  work.end_ns = end_ns;
  return work;
}

TEST(ProgramTotalsTest, LaunchesOfOneKernelAndGridAreOneClass) {
  ProgramTotals totals;
  totals.Add(Kernel("a", 10, 30));
  totals.Add(Kernel("a", 40, 45));
  totals.Add(Kernel("a", 50, 60, 2));
  totals.Add(Kernel("b", 70, 71));
  ASSERT_EQ(totals.classes().size(), 3U);
  const ProgramTotals::Window window = totals.TakeWindow();
  ASSERT_EQ(window.kernels.size(), 3U);
  EXPECT_EQ(window.kernels[0].launches, 2);
  EXPECT_EQ(window.kernels[0].total_ns, 25);
  EXPECT_EQ(window.kernels[0].min_ns, 5);
  EXPECT_EQ(window.kernels[0].max_ns, 20);
  EXPECT_EQ(totals.kernel_ns(), 36);
}

TEST(ProgramTotalsTest, ANameIsItsTextAndNotItsAddress) {
  ProgramTotals totals;
  char name[] = "first";
  totals.Add(Kernel(name, 1, 2));
  const std::string copy = "first";
  totals.Add(Kernel(copy.c_str(), 3, 4));
  EXPECT_EQ(totals.classes().size(), 1U);
  // A module was unloaded, and another one has its memory.
  name[0] = 'w';
  totals.Add(Kernel(name, 5, 6));
  ASSERT_EQ(totals.classes().size(), 2U);
  EXPECT_EQ(totals.classes()[1].launch.kernel_name, "wirst");
}

TEST(ProgramTotalsTest, AWindowHoldsWhatCameSinceTheLast) {
  ProgramTotals totals;
  totals.Add(Kernel("a", 10, 30));
  (void)totals.TakeWindow();
  EXPECT_TRUE(totals.TakeWindow().kernels.empty());
  totals.Add(Kernel("a", 40, 41));
  const ProgramTotals::Window window = totals.TakeWindow();
  ASSERT_EQ(window.kernels.size(), 1U);
  EXPECT_EQ(window.kernels[0].launches, 1);
  EXPECT_EQ(window.kernels[0].max_ns, 1);
  EXPECT_EQ(totals.classes()[0].launches, 2) << "the classes count the whole run";
}

TEST(ProgramTotalsTest, BusyTimeCountsOverlapsOnce) {
  ProgramTotals totals;
  totals.Add(Kernel("a", 10, 30));
  totals.Add(Kernel("b", 20, 40));
  totals.Add(Copy(8, 35, 50));
  totals.Add(Kernel("a", 60, 70));
  totals.Add(Kernel("a", 62, 65));
  EXPECT_EQ(totals.TakeWindow().busy_ns, 50);
  // A record that comes late is counted from where the last window ended.
  totals.Add(Kernel("a", 65, 80));
  EXPECT_EQ(totals.TakeWindow().busy_ns, 10);
}

TEST(ProgramTotalsTest, BusyTimeOfManyRecordsIsThatOfFew) {
  ProgramTotals totals;
  std::int64_t busy_ns = 0;
  for (std::int64_t i = 0; i < (std::int64_t{1} << 20) + 1000; ++i) {
    totals.Add(Kernel("a", 1 + 10 * i, 1 + 10 * i + 4));
    busy_ns += 4;
  }
  EXPECT_EQ(totals.TakeWindow().busy_ns, busy_ns);
}

TEST(ProgramTotalsTest, CopiesAddUpByKind) {
  ProgramTotals totals;
  totals.Add(Copy(100, 1, 5));
  totals.Add(Copy(50, 6, 8));
  const ProgramTotals::Window window = totals.TakeWindow();
  ASSERT_EQ(window.memory.size(), 1U);
  EXPECT_EQ(window.memory[0].kind, "copy host to device");
  EXPECT_EQ(window.memory[0].operations, 2);
  EXPECT_EQ(window.memory[0].bytes, 150);
  EXPECT_EQ(window.memory[0].total_ns, 6);
}

TEST(ProgramTotalsTest, LaunchesOfAGraphAreCountedByTheirCorrelation) {
  ProgramTotals totals;
  for (std::uint32_t launch = 1; launch <= 3; ++launch) {
    for (int node = 0; node < 4; ++node) {
      GpuWork work = Kernel("a", 10, 20);
      work.graph = 7;
      work.correlation = launch;
      totals.Add(work);
    }
  }
  totals.Add(Kernel("a", 30, 40));
  EXPECT_EQ(totals.graphs().at(7).launches, 3);
  EXPECT_EQ(totals.graphs().at(7).kernels, 12);
  EXPECT_EQ(totals.classes()[0].graph_launches, 12);
  EXPECT_EQ(totals.classes()[0].launches, 13);
  EXPECT_EQ(totals.TakeWindow().kernels[0].graph_launches, 12);
}

TEST(ProgramTotalsTest, RecordsWithoutTimesAndOfOtherDevicesAreLost) {
  ProgramTotals totals;
  totals.Add(Kernel("a", 0, 0));
  totals.Add(Kernel("a", 30, 20));
  GpuWork other = Kernel("a", 30, 40);
  other.device = 1;
  totals.Add(other);
  EXPECT_EQ(totals.lost().without_times, 2);
  EXPECT_EQ(totals.lost().other_devices, 1);
  EXPECT_TRUE(totals.classes().empty());
}

TEST(ProgramTotalsTest, ClassesAreBounded) {
  ProgramTotals totals;
  for (int i = 0; i < 5000; ++i) totals.Add(Kernel("a", 1, 2, i + 1));
  EXPECT_EQ(totals.classes().size(), ProgramTotals::kMostClasses);
  EXPECT_EQ(totals.lost().beyond_classes, 5000 - static_cast<std::int64_t>(ProgramTotals::kMostClasses));
}

TEST(ProgramTotalsTest, SampledDurationsComeFromTheWholeWindow) {
  ProgramTotals totals;
  constexpr int kLaunches = 10000;
  for (int i = 0; i < kLaunches; ++i) totals.Add(Kernel("a", 1, 1 + i));
  const std::vector<double> durations = totals.TakeWindow().durations_ns.at(0);
  ASSERT_EQ(durations.size(), ProgramTotals::kSampledDurations);
  int late = 0;
  for (const double duration : durations) late += duration >= kLaunches / 2 ? 1 : 0;
  EXPECT_GT(late, 16);  // of 64; about half
  EXPECT_LT(late, 48);
}

TEST(LaunchClassNameTest, NamesAreThoseOfCudasNotation) {
  Launch launch;
  launch.grid = {32, 16, 4};
  launch.block = {128, 1, 1};
  EXPECT_EQ(LaunchClassName("void ns::flash<64>(ns::Params)", launch), "flash<64><<<(32, 16, 4), 128>>>");
  launch.grid = {1, 7, 1};
  launch.cluster = {2, 1, 1};
  EXPECT_EQ(LaunchClassName("k", launch), "k<<<(1, 7), 128, cluster 2>>>");
}

}  // namespace
}  // namespace fa_profile::collect
