// How a program's GPU work is added up, on records made by hand.
#include "fa_profile/program_totals.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <utility>

namespace fa_profile::collect::program_totals_test {
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

GpuWork OfGraph(std::uint32_t graph, std::uint32_t launch, std::int64_t start_ns, std::int64_t end_ns) {
  GpuWork work = Kernel("g", start_ns, end_ns);
  work.graph = graph;
  work.correlation = launch;
  return work;
}

const AskedLaunches kNothingAsked;

// Launches of "a" and the like, as Kernel() makes them.
std::pair<std::string, std::array<int, 6>> Asked(const char* name) { return {name, {1, 1, 1, 128, 1, 1}}; }

// Launches of a graph of `kernels` kernels of `each_ns`, one after the other from `start_ns` on.
void AddGraphLaunches(ProgramTotals& totals, std::uint32_t graph, std::uint32_t first, int launches, int kernels,
                      std::int64_t start_ns, std::int64_t each_ns) {
  for (int launch = 0; launch < launches; ++launch) {
    for (int i = 0; i < kernels; ++i, start_ns += each_ns) {
      totals.Add(OfGraph(graph, first + static_cast<std::uint32_t>(launch), start_ns, start_ns + each_ns));
    }
  }
}

TEST(ProgramTotalsTest, OfASampleLaunchesAreThoseAskedForAndTheirTimeIsTheMeanOfTheirClass) {
  ProgramTotals totals;
  for (int i = 0; i < 10; ++i) totals.Add(Kernel("a", 100 * i + 1, 100 * i + 11));
  for (int i = 0; i < 30; ++i) totals.Add(Kernel("b", 100 * i + 1, 100 * i + 3));
  totals.Add(Kernel("c", 5001, 5002));  // launched in a way that is not counted
  totals.Add(Copy(100, 4001, 4011));
  AskedLaunches asked;
  asked.kernels = {{Asked("a"), 50}, {Asked("b"), 350}};
  const ProgramTotals::Window window = totals.TakeWindow(&asked);
  ASSERT_EQ(window.kernels.size(), 3U);
  EXPECT_EQ(window.kernels[0].launches, 50);
  EXPECT_EQ(window.kernels[0].total_ns, 500);
  EXPECT_EQ(window.kernels[0].max_ns, 10) << "a launch's own time";
  EXPECT_EQ(window.kernels[1].launches, 350);
  EXPECT_EQ(window.kernels[1].total_ns, 700);
  EXPECT_EQ(window.kernels[2].launches, 1);
  ASSERT_EQ(window.memory.size(), 1U);
  const double ratio = (500.0 + 700.0 + 1.0) / (100.0 + 60.0 + 1.0);  // relative to the kernels' time
  EXPECT_EQ(window.memory[0].operations, std::llround(ratio));
  EXPECT_EQ(window.memory[0].bytes, std::llround(100 * ratio));
  EXPECT_EQ(totals.lost().never_recorded, 0);
}

TEST(ProgramTotalsTest, AClassWithoutARecordInTheWindowHasItsMeanOfBefore) {
  ProgramTotals totals;
  totals.Add(Kernel("a", 1, 11));
  totals.Add(Kernel("a", 21, 41));
  (void)totals.TakeWindow();
  AskedLaunches asked;
  asked.kernels = {{Asked("a"), 4}};
  ProgramTotals::Window window = totals.TakeWindow(&asked);
  ASSERT_EQ(window.kernels.size(), 1U);
  EXPECT_EQ(window.kernels[0].launches, 4);
  EXPECT_EQ(window.kernels[0].total_ns, 60);
  EXPECT_EQ(window.kernels[0].min_ns, 15);
  EXPECT_EQ(window.busy_ns, 60);
  EXPECT_TRUE(window.durations_ns.empty());
  // A record that comes late belongs to a counted launch.
  totals.Add(Kernel("a", 50, 60));
  asked.kernels.clear();
  EXPECT_TRUE(totals.TakeWindow(&asked).kernels.empty());
}

TEST(ProgramTotalsTest, ClassesThatDifferInTheClusterShareTheirCount) {
  ProgramTotals totals;
  GpuWork clustered = Kernel("a", 1, 31);
  clustered.cluster = {2, 1, 1};
  totals.Add(clustered);
  for (int i = 0; i < 3; ++i) totals.Add(Kernel("a", 101, 111));
  AskedLaunches asked;
  asked.kernels = {{Asked("a"), 40}};
  const ProgramTotals::Window window = totals.TakeWindow(&asked);
  ASSERT_EQ(window.kernels.size(), 2U);
  EXPECT_EQ(window.kernels[0].launches, 10);
  EXPECT_EQ(window.kernels[0].total_ns, 300);
  EXPECT_EQ(window.kernels[1].launches, 30);
}

TEST(ProgramTotalsTest, CopiesWithoutKernelsAreMultipliedByTheTime) {
  ProgramTotals totals;
  totals.Add(Copy(100, 1, 11));
  AskedLaunches asked;
  asked.recorded_ratio = 0.1;
  const ProgramTotals::Window window = totals.TakeWindow(&asked);
  EXPECT_EQ(window.memory[0].operations, 10);
  EXPECT_EQ(window.busy_ns, 100);
}

TEST(ProgramTotalsTest, OfAGraphOnlyCompleteLaunchesAreInTheSample) {
  ProgramTotals totals;
  AddGraphLaunches(totals, 7, 1, 6, 4, 1000, 10);  // every launch was recorded, and shows how many kernels one has
  (void)totals.TakeWindow();
  totals.Pause(2000);
  totals.Resume(10000);
  // The end of a launch, two whole ones, and one that the next pause cuts off, whose first kernel is short.
  AddGraphLaunches(totals, 7, 20, 1, 2, 10001, 1000);
  AddGraphLaunches(totals, 7, 21, 2, 4, 20000, 10);
  totals.Add(OfGraph(7, 23, 30000, 30001));
  totals.Pause(30500);
  totals.Add(OfGraph(7, 23, 30400, 39000));
  AskedLaunches asked;
  asked.graphs = {{7, 130}};
  const ProgramTotals::Window window = totals.TakeWindow(&asked);
  ASSERT_EQ(window.kernels.size(), 1U);
  EXPECT_EQ(window.kernels[0].launches, 130 * 4);
  EXPECT_EQ(window.kernels[0].graph_launches, 130 * 4);
  EXPECT_EQ(window.kernels[0].total_ns, 130 * 4 * 10);
  EXPECT_FALSE(window.graph_cut);
}

TEST(ProgramTotalsTest, AGraphThatWasCutOffHasTheTimesOfBefore) {
  ProgramTotals totals;
  AddGraphLaunches(totals, 7, 1, 6, 4, 1000, 10);
  (void)totals.TakeWindow();
  totals.Pause(2000);
  totals.Resume(10000);
  totals.Add(OfGraph(7, 23, 30000, 30001));
  totals.Pause(30500);
  AskedLaunches asked;
  asked.graphs = {{7, 10}};
  const ProgramTotals::Window window = totals.TakeWindow(&asked);
  EXPECT_EQ(window.kernels[0].launches, 40);
  EXPECT_EQ(window.kernels[0].total_ns, 400);
  EXPECT_TRUE(window.graph_cut) << "longer stretches find a whole one";
}

TEST(ProgramTotalsTest, LaunchesOfAGraphThatDifferAreCompleteBetweenTwoOthers) {
  ProgramTotals totals;
  std::int64_t start_ns = 1000;
  std::uint32_t launch = 0;
  for (int round = 0; round < 6; ++round) {
    for (const int kernels : {4, 2}) {
      AddGraphLaunches(totals, 7, ++launch, 1, kernels, start_ns, 10);
      start_ns += 100;
    }
  }
  AskedLaunches asked;
  asked.graphs = {{7, 60}};
  const ProgramTotals::Window window = totals.TakeWindow(&asked);
  // The first launch and the last four show nothing of what came before and after them.
  EXPECT_NEAR(static_cast<double>(window.kernels[0].launches), 60 * 3, 18);
  EXPECT_NEAR(static_cast<double>(window.kernels[0].total_ns), 60 * 3 * 10, 180);
}

TEST(ProgramTotalsTest, AGraphThatTheDeviceLaunchesCountsAsRecorded) {
  ProgramTotals totals;
  AddGraphLaunches(totals, 8, 1, 9, 2, 1000, 10);
  const ProgramTotals::Window window = totals.TakeWindow(&kNothingAsked);
  ASSERT_EQ(window.kernels.size(), 1U);
  EXPECT_GE(window.kernels[0].launches, 8);
  EXPECT_LE(window.kernels[0].launches, 18);
}

TEST(ProgramTotalsTest, WhatWasLaunchedAheadWhenTheSampleBeginsIsOfItsFirstWindow) {
  ProgramTotals totals;
  totals.BeginCount();
  for (int i = 0; i < 10; ++i) totals.Add(Kernel("a", 100 * i + 1, 100 * i + 11));
  AddGraphLaunches(totals, 7, 1, 6, 4, 5000, 10);
  (void)totals.TakeWindow();
  AskedLaunches asked;
  asked.kernels = {{Asked("a"), 13}};
  asked.graphs = {{7, 8}, {9, 1}};
  totals.Owe(asked);
  ProgramTotals::Window window = totals.TakeWindow(&kNothingAsked);
  ASSERT_EQ(window.kernels.size(), 2U);
  EXPECT_EQ(window.kernels[0].launches, 3);
  EXPECT_EQ(window.kernels[0].total_ns, 30);
  EXPECT_EQ(window.kernels[1].launches, 2 * 4);
  EXPECT_EQ(totals.lost().never_recorded, 1);
  EXPECT_EQ(totals.lost().from_before, 3 + 8);
  // Every launch is recorded again, and then a sample.
  totals.BeginCount();
  totals.Add(Kernel("a", 9001, 9011));
  (void)totals.TakeWindow();
  asked.kernels = {{Asked("a"), 1}};
  asked.graphs.clear();
  totals.Owe(asked);
  EXPECT_TRUE(totals.TakeWindow(&kNothingAsked).kernels.empty());
}

TEST(ProgramTotalsTest, WhatWasNeverRecordedIsOwedToTheFirstRecord) {
  ProgramTotals totals;
  AskedLaunches asked;
  asked.kernels = {{Asked("a"), 50}};
  asked.graphs = {{7, 3}};
  EXPECT_TRUE(totals.TakeWindow(&asked).kernels.empty());
  EXPECT_EQ(totals.lost().never_recorded, 53);
  totals.Add(Kernel("a", 1, 11));
  asked.graphs.clear();
  EXPECT_EQ(totals.TakeWindow(&asked).kernels[0].launches, 100);
  EXPECT_EQ(totals.lost().never_recorded, 3);
}

TEST(ProgramTotalsTest, GraphsAreBounded) {
  ProgramTotals totals;
  for (std::uint32_t graph = 1; graph <= 5000; ++graph) AddGraphLaunches(totals, graph, graph, 1, 1, 10 * graph, 5);
  EXPECT_EQ(totals.graphs().size(), GraphLaunches::kMostGraphs);
  EXPECT_TRUE(totals.graphs().contains(5000));
  EXPECT_EQ(totals.TakeWindow().kernels[0].launches, 5000);
}

TEST(ProgramTotalsTest, KernelsOfAGraphThatRanIntoAPauseAreLeftOut) {
  ProgramTotals totals;
  EXPECT_TRUE(totals.Add(OfGraph(7, 1, 10, 20)).counts);
  totals.Pause(50);
  EXPECT_FALSE(totals.Add(OfGraph(7, 2, 40, 900)).counts) << "its end is that of the pause";
  EXPECT_FALSE(totals.Add(OfGraph(7, 2, 60, 900)).counts) << "it began after the pause did";
  EXPECT_TRUE(totals.Add(Kernel("a", 40, 60)).counts);
  totals.Resume(900);
  EXPECT_FALSE(totals.Add(OfGraph(7, 2, 60, 901)).counts);
  EXPECT_TRUE(totals.Add(OfGraph(7, 3, 910, 920)).counts);
  totals.Pause(950);
  EXPECT_TRUE(totals.Add(OfGraph(7, 3, 930, 940)).counts);
  EXPECT_EQ(totals.graphs().at(7).launches, 2);
  EXPECT_EQ(totals.lost().without_times, 0);
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
  EXPECT_GT(late, 16);  // out of 64; about half
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
}  // namespace fa_profile::collect::program_totals_test
