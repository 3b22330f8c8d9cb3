#include "fa_profile/analyze.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>

#include "fa_profile/metric_catalogue.h"
#include "sample_recording.h"

namespace fa_profile::analyze::analyze_test {
namespace {

using sample::FullCounters;
using sample::MakeRecording;

const ProfileEntry& EntryOf(const Profile& profile, const std::string& kernel, const std::string& part = {}) {
  for (const ProfileEntry& entry : profile.entries) {
    if (entry.kernel == kernel && entry.part == part) return entry;
  }
  throw std::runtime_error("no entry " + kernel + "/" + part);
}

double MetricOf(const ProfileEntry& entry, const std::string& id) {
  const auto found = entry.metrics.find(id);
  return found == entry.metrics.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
}

/// One correct kernel with these counters.
// One case under kernel replay, whose values need no correction.
Recording WithCounters(std::map<std::string, double> counters) {
  Recording recording;
  recording.session = sample::FullSession();
  recording.session.replay_mode = "kernel";
  recording.device = sample::H200();
  recording.cases = {{1, "mma", "ladder", AttentionShape{1, 8, 512, 64, false}}};
  recording.ranges = {{1, 1, "", "mma", 0, 0, std::move(counters)}};
  return recording;
}

TEST(ElapsedTest, TimesOfDayAreSubtractedExactly) {
  constexpr std::int64_t kNow = 1'763'710'000'000'000'001;
  EXPECT_EQ(ElapsedNs(kNow, kNow + 4225), 4225.0);
  EXPECT_EQ(ElapsedNs(kNow + 4225, kNow), -4225.0);
  EXPECT_GT(ElapsedNs(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()), 1.8e19);
}

TEST(AnalyzeTest, EntriesAreTheCallThenItsPartsInLaunchOrder) {
  const Profile profile = Analyze(MakeRecording());
  std::vector<std::string> titles;
  for (const ProfileEntry& entry : profile.entries) titles.push_back(entry.kernel + "/" + entry.part);
  EXPECT_EQ(titles, (std::vector<std::string>{"mma/", "cublas/", "cublas/qk", "cublas/softmax", "cublas/pv", "broken/",
                                              "train.py/", "train.py/#2", "tiled/"}));
}

TEST(AnalyzeTest, ACallOfOneNamedPartIsOneEntry) {
  Recording recording = MakeRecording();
  recording.cases.resize(1);
  recording.timings = {sample::Timed(1, "main", 5000)};
  recording.launches = {sample::Launched(1, "main", "mma_kernel", 0, 5000)};
  recording.ranges = {{1, 1, "main", "mma/main", 0, 0, FullCounters(1)}};
  const Profile profile = Analyze(recording);
  ASSERT_EQ(profile.entries.size(), 1U);
  EXPECT_EQ(profile.entries[0].part, "");
  EXPECT_DOUBLE_EQ(profile.entries[0].timing->median_ns, 5000.0);
  EXPECT_EQ(profile.entries[0].launches.size(), 1U);
  EXPECT_DOUBLE_EQ(MetricOf(profile.entries[0], "instructions"), 1e6);
}

TEST(AnalyzeTest, AProgramReplayedKernelByKernelHasNoEntryForTheWhole) {
  Recording recording = WithCounters({});
  recording.ranges = {{1, 1, "first", "", 0, 0, FullCounters(1)}, {2, 1, "second", "", 0, 0, FullCounters(1)}};
  const Profile profile = Analyze(recording);
  ASSERT_EQ(profile.entries.size(), 2U);
  EXPECT_EQ(profile.entries[0].part, "first");
  EXPECT_EQ(profile.entries[1].part, "second");
}

TEST(AnalyzeTest, TimingIsMedianAndSpreadOfUnprofiledLaunches) {
  Recording recording = WithCounters({});
  recording.timings = {{1, "", "events", {40, 10, 20, 30, 1000}}};
  const TimingSummary timing = *Analyze(recording).entries[0].timing;
  EXPECT_EQ(timing.samples, 5U);
  EXPECT_EQ(timing.method, "events");
  EXPECT_DOUBLE_EQ(timing.median_ns, 30.0);
  EXPECT_DOUBLE_EQ(timing.min_ns, 10.0);
  EXPECT_DOUBLE_EQ(timing.p05_ns, 12.0);
  EXPECT_DOUBLE_EQ(timing.p95_ns, 808.0);
  EXPECT_DOUBLE_EQ(timing.spread_ratio, (808.0 - 12.0) / 30.0);

  recording.timings = {{1, "", "events", {10, 20}}};
  EXPECT_DOUBLE_EQ(Analyze(recording).entries[0].timing->median_ns, 15.0);
}

TEST(AnalyzeTest, TheTrendIsOfStretchesOfLaunchesInTheOrderTaken) {
  const auto trend_of = [](std::vector<double> durations) {
    Recording recording = WithCounters({});
    recording.timings = {{1, "", "events", std::move(durations)}};
    return Analyze(recording).entries[0].timing->trend_ns;
  };
  EXPECT_EQ(trend_of({40, 10, 20}), (std::vector<double>{40, 10, 20}));
  EXPECT_EQ(trend_of({40}), std::vector<double>{40});
  std::vector<double> durations(100, 10.0);
  durations.back() = 30.0;
  const std::vector<double> trend = trend_of(durations);
  EXPECT_EQ(trend.size(), 20U);  // five each
  EXPECT_EQ(trend.back(), 10.0);
  EXPECT_EQ(trend_of(std::vector<double>(25, 10.0)).size(), 13U);
}

TEST(AnalyzeTest, InvalidDurationsAreIgnored) {
  Recording recording = WithCounters({});
  recording.timings = {{1, "", "events", {0.0, -5.0, std::numeric_limits<double>::quiet_NaN()}}};
  EXPECT_FALSE(Analyze(recording).entries[0].timing);
}

TEST(AnalyzeTest, AchievedFlopsAreTheShapesOverUnprofiledTime) {
  const Profile profile = Analyze(MakeRecording());
  // 4 * 1 * 8 * 512 * 512 * 64 FLOPs in 9.92 us.
  EXPECT_NEAR(MetricOf(EntryOf(profile, "mma"), "achieved_flops_per_second"), 536870912.0 / 9.92e-6, 1.0);
  EXPECT_FALSE(EntryOf(profile, "cublas", "qk").metrics.contains("achieved_flops_per_second"))
      << "what share of the FLOPs a part does is not known";
  EXPECT_FALSE(EntryOf(profile, "train.py").metrics.contains("achieved_flops_per_second"));
}

TEST(AnalyzeTest, AnIncorrectKernelGetsNoPerformanceMetrics) {
  const ProfileEntry entry = EntryOf(Analyze(MakeRecording()), "broken");
  ASSERT_TRUE(entry.verification);
  EXPECT_FALSE(entry.verification->correct());
  EXPECT_FALSE(entry.timing);
  for (const auto& [id, value] : entry.metrics) {
    const std::string_view unit = FindMetric(id)->unit;
    EXPECT_FALSE(unit == "seconds" || unit.ends_with("_per_second")) << id;
  }
  EXPECT_TRUE(entry.metrics.contains("instructions")) << "what it executed is still a fact";
}

TEST(AnalyzeTest, TimingHasCyclesWhereItsClockWasRead) {
  Recording recording = WithCounters({});
  recording.timings = {{1, "", "graph replay", {1000, 1000}, 2e9}};
  EXPECT_EQ(Analyze(recording).entries[0].timing->sm_clock_hz, 2e9);
  EXPECT_DOUBLE_EQ(Analyze(recording).entries[0].timing->median_cycles.value(), 2000.0);
  for (const std::optional<double> none : {std::optional<double>(), std::optional(0.0)}) {
    recording.timings[0].sm_clock_hz = none;
    EXPECT_FALSE(Analyze(recording).entries[0].timing->sm_clock_hz);
    EXPECT_FALSE(Analyze(recording).entries[0].timing->median_cycles);
  }
}

TEST(AnalyzeTest, AKernelThatWasNotVerifiedKeepsItsTiming) {
  Recording recording = WithCounters({});
  recording.timings = {sample::Timed(1, "", 5000)};
  const ProfileEntry entry = Analyze(recording).entries[0];
  EXPECT_FALSE(entry.verification);
  EXPECT_TRUE(entry.timing);
}

TEST(AnalyzeTest, GapsBetweenKernelsComeFromLaunchesAndFromTiming) {
  const Profile profile = Analyze(MakeRecording());
  const ProfileEntry& call = EntryOf(profile, "cublas");
  // Launches run from 20 to 33 us, busy for 3.5 + 2.5 + 4.
  EXPECT_NEAR(MetricOf(call, "gap_launches_seconds"), 3e-6, 1e-12);
  EXPECT_NEAR(MetricOf(call, "gap_timing_seconds"), 3e-6, 1e-12);
  for (const char* id : {"gap_launches_seconds", "gap_timing_seconds"}) {
    EXPECT_FALSE(EntryOf(profile, "cublas", "qk").metrics.contains(id));
    EXPECT_FALSE(EntryOf(profile, "mma").metrics.contains(id)) << "one kernel has no gaps";
  }
}

TEST(AnalyzeTest, GapsAreAbsentUnlessEveryPartIsTimed) {
  Recording recording = MakeRecording();
  std::erase_if(recording.timings, [](const Timing& timing) { return timing.part == "pv"; });
  EXPECT_FALSE(EntryOf(Analyze(recording), "cublas").metrics.contains("gap_timing_seconds"));
}

TEST(AnalyzeTest, TensorInstructionsExcludeHfma2) {
  const ProfileEntry entry = EntryOf(Analyze(MakeRecording()), "mma");
  EXPECT_DOUBLE_EQ(MetricOf(entry, "hmma_instructions"), 65536.0);
  EXPECT_DOUBLE_EQ(MetricOf(entry, "hmma_instruction_ratio"), 0.065536);
  EXPECT_DOUBLE_EQ(MetricOf(entry, "tensor_core_utilization_ratio"), 0.315);
}

TEST(AnalyzeTest, BankConflictsPerRequestAndExcessWavefronts) {
  const ProfileEntry entry = EntryOf(Analyze(MakeRecording()), "cublas");
  EXPECT_DOUBLE_EQ(MetricOf(entry, "shared_excess_wavefronts"), 40000.0);
  EXPECT_DOUBLE_EQ(MetricOf(entry, "shared_conflicts_per_request"), 0.4);
  EXPECT_DOUBLE_EQ(MetricOf(entry, "shared_wavefronts_per_request"), 4.4);
}

TEST(AnalyzeTest, ConflictsPerRequestAreAbsentWithoutRequests) {
  const ProfileEntry entry = Analyze(WithCounters({{"smsp__sass_inst_executed_op_shared.sum", 0},
                                                   {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", 0}}))
                                 .entries[0];
  EXPECT_DOUBLE_EQ(MetricOf(entry, "shared_excess_wavefronts"), 0.0);
  EXPECT_FALSE(entry.metrics.contains("shared_conflicts_per_request"));
}

TEST(AnalyzeTest, TheL2HitRateComparesHitsWithLookupsAndNotWithSectorsOfAnotherPass) {
  // mma at 1,8,512,64 in recordings/h100-hopper.fap: Nsight Compute's own rate is 121.5 %.
  const ProfileEntry entry = Analyze(WithCounters({{"lts__t_sector_hit_rate.pct", 121.5},
                                                   {"lts__t_sectors_lookup_hit.sum", 382342},
                                                   {"lts__t_sectors_lookup_miss.sum", 123}}))
                                 .entries[0];
  EXPECT_DOUBLE_EQ(MetricOf(entry, "l2_hit_ratio"), 382342.0 / 382465.0);
}

TEST(AnalyzeTest, ARatioFarOutsideItsBoundsIsMissingAndTheReportNamesIt) {
  const Profile profile =
      Analyze(WithCounters({{"lts__t_sector_hit_rate.pct", 121.5}, {"l1tex__t_sector_hit_rate.pct", 101.5}}));
  EXPECT_FALSE(profile.entries[0].metrics.contains("l2_hit_ratio"));
  EXPECT_EQ(MetricOf(profile.entries[0], "l1_hit_ratio"), 1.0) << "two passes differ by so much";
  const auto named = std::ranges::find(profile.losses, "metric_contradictory", &DataLoss::kind);
  ASSERT_NE(named, profile.losses.end());
  EXPECT_TRUE(named->subject.starts_with("L2 hit rate of ")) << named->subject;
  EXPECT_EQ(std::ranges::count(profile.losses, "metric_contradictory", &DataLoss::kind), 1);
  EXPECT_EQ(std::ranges::count(profile.losses, "l2_hit_ratio", &DataLoss::subject), 0) << "its counters are there";
}

TEST(AnalyzeTest, WarpStatesThatAddUpToMoreThanAllAreMissingAndTheReportNamesThemOnce) {
  const auto stalled = [](double long_scoreboard, double barrier) {
    return Analyze(
        WithCounters({{"smsp__average_warp_latency_per_inst_issued.ratio", 10.0},
                      {"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", long_scoreboard},
                      {"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", barrier}}));
  };
  EXPECT_EQ(stalled(5.8, 4.0).entries[0].stalls.size(), 2U) << "passes differ by a little";
  const Profile profile = stalled(7.5, 5.0);
  EXPECT_TRUE(profile.entries[0].stalls.empty());
  EXPECT_FALSE(profile.entries[0].metrics.contains("stall_barrier_ratio"));
  EXPECT_EQ(std::ranges::count(profile.losses, "metric_contradictory", &DataLoss::kind), 1);
  const auto named = std::ranges::find(profile.losses, "metric_contradictory", &DataLoss::kind);
  EXPECT_TRUE(named->subject.starts_with("warp states of ")) << named->subject;
}

TEST(AnalyzeTest, RooflineUsesExecutedFlopsAndDramBytes) {
  const ProfileEntry entry = EntryOf(Analyze(MakeRecording()), "mma");
  const double flops = 536870912.0 + 2 * 4e6 + 1e6 + 1e6;
  EXPECT_NEAR(MetricOf(entry, "executed_flops_per_second"), flops / (entry.timing->median_ns * 1e-9), 1.0);
  EXPECT_NEAR(MetricOf(entry, "arithmetic_intensity_dram"), flops / 2097152.0, 1e-9);
}

TEST(AnalyzeTest, StallsAreSharesOfWarpCyclesWorstFirst) {
  const ProfileEntry entry = EntryOf(Analyze(MakeRecording()), "mma");
  ASSERT_EQ(entry.stalls.size(), 3U) << "issuing is no stall, and a reason that never occurred is not listed";
  EXPECT_EQ(entry.stalls[0].reason, "long_scoreboard");
  EXPECT_DOUBLE_EQ(entry.stalls[0].ratio, 0.375);
  EXPECT_EQ(entry.stalls[1].reason, "wait");
  EXPECT_EQ(entry.stalls[2].reason, "barrier");
  EXPECT_DOUBLE_EQ(MetricOf(entry, "warp_issuing_ratio"), 0.125);
}

TEST(AnalyzeTest, TheSetPhasesSufficesForTensorOccupancySharedMemoryAndStalls) {
  const ProfileEntry entry =
      Analyze(WithCounters({{"TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.sum", 1000},
                            {"TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.sum.peak_sustained", 4 * 132},
                            {"TPC.TriageCompute.sm__cycles_active.sum", 1000},
                            {"TPC.TriageCompute.sm__inst_executed_realtime.sum", 1500},
                            {"TPC.TriageCompute.tpc__warps_active_shader_cs_realtime.sum", 16000},
                            {"SM_A.TriageCompute.l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", 77},
                            {"SM_A.TriageCompute.sm__inst_executed_pipe_xu_realtime.sum", 150},
                            {"SM_C.TriageCompute.smsp__warps_issue_stalled_long_scoreboard.sum", 4000},
                            {"SM_C.TriageCompute.smsp__warps_issue_stalled_short_scoreboard.sum", 8000}}))
          .entries[0];
  EXPECT_DOUBLE_EQ(MetricOf(entry, "tensor_core_utilization_ratio"), 0.25);
  EXPECT_DOUBLE_EQ(MetricOf(entry, "achieved_occupancy_ratio"), 0.25);  // 16 of 64 warps
  EXPECT_DOUBLE_EQ(MetricOf(entry, "instructions_per_cycle"), 1.5);
  EXPECT_DOUBLE_EQ(MetricOf(entry, "shared_wavefronts"), 77.0);
  EXPECT_DOUBLE_EQ(MetricOf(entry, "xu_instruction_ratio"), 0.1);
  ASSERT_EQ(entry.stalls.size(), 2U);
  EXPECT_EQ(entry.stalls[0].reason, "short_scoreboard");
  EXPECT_DOUBLE_EQ(entry.stalls[0].ratio, 0.5);
}

// A kernel of 2 x 100 shared loads per warp with a two-way conflict, as Nsight Compute counted it on an H200.
TEST(AnalyzeTest, ATwoWayConflictIsOneExcessWavefrontPerLoad) {
  const ProfileEntry entry = Analyze(WithCounters({{"smsp__sass_inst_executed_op_shared.sum", 213312},
                                                   {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", 211200}}))
                                 .entries[0];
  EXPECT_NEAR(MetricOf(entry, "shared_conflicts_per_request"), 0.990, 1e-3);
}

TEST(AnalyzeTest, ElapsedValuesOfAUserRangeReferToTheUnprofiledDuration) {
  Recording recording = WithCounters({{"sm__throughput.avg.pct_of_peak_sustained_elapsed", 20.0},
                                      {"gpu__time_duration.sum", 15000.0},
                                      {"dram__bytes_read.sum", 3000.0},
                                      {"dram__bytes_write.sum", 0.0}});
  EXPECT_DOUBLE_EQ(MetricOf(Analyze(recording).entries[0], "compute_sol_ratio"), 0.2);

  recording.session.replay_mode = "user";
  EXPECT_FALSE(Analyze(recording).entries[0].metrics.contains("compute_sol_ratio")) << "not timed: no correction";

  recording.timings = {{1, "", "events", {7500.0}}};  // half of the range was launch latency
  const ProfileEntry entry = Analyze(recording).entries[0];
  EXPECT_DOUBLE_EQ(MetricOf(entry, "compute_sol_ratio"), 0.4);
  EXPECT_DOUBLE_EQ(MetricOf(entry, "dram_bytes_per_second"), 4e8);
}

TEST(AnalyzeTest, BottleneckIsTheBusierSideOrLatency) {
  const auto bottleneck = [](double compute, double memory) {
    return Analyze(WithCounters({{"sm__throughput.avg.pct_of_peak_sustained_elapsed", compute},
                                 {"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", memory}}))
        .entries[0]
        .bottleneck;
  };
  EXPECT_EQ(bottleneck(85, 40), "compute");
  EXPECT_EQ(bottleneck(40, 61), "memory");
  EXPECT_EQ(bottleneck(59, 59), "latency");
  EXPECT_EQ(Analyze(WithCounters({{"sm__throughput.avg.pct_of_peak_sustained_elapsed", 85}})).entries[0].bottleneck,
            "");
}

TEST(AnalyzeTest, OccupancyIsThatOfTheLongestLaunch) {
  Recording recording = MakeRecording();
  recording.launches[3].registers_per_thread = 255;  // cublas pv, the longest
  const ProfileEntry entry = EntryOf(Analyze(recording), "cublas");
  ASSERT_TRUE(entry.occupancy);
  EXPECT_EQ(entry.occupancy->blocks_per_sm, 2);
  EXPECT_DOUBLE_EQ(MetricOf(entry, "registers_per_thread"), 255.0);
  EXPECT_DOUBLE_EQ(MetricOf(entry, "theoretical_occupancy_ratio"), 8.0 / 64);
}

TEST(AnalyzeTest, DataLossIsCopiedIntoTheProfile) {
  Recording recording = MakeRecording();
  recording.session.complete = false;
  const Profile profile = Analyze(recording);
  std::map<std::string, std::string> reasons;
  for (const DataLoss& loss : profile.losses) reasons[loss.kind + " " + loss.subject] = loss.reason;
  EXPECT_TRUE(reasons.contains("range_dropped cublas/softmax"));
  EXPECT_TRUE(reasons.contains("recording_incomplete session"));
  EXPECT_EQ(reasons["metric_not_derived l1_hit_ratio"], "l1tex__t_sector_hit_rate.pct");
  EXPECT_FALSE(reasons.contains("metric_not_derived instructions"));
  EXPECT_FALSE(reasons.contains("metric_not_derived gap_timing_seconds")) << "it reads no counter";
}

TEST(AnalyzeTest, AnEmptyRecordingGivesAnEmptyProfile) {
  const Profile profile = Analyze(Recording{});
  EXPECT_TRUE(profile.entries.empty());
  ASSERT_EQ(profile.losses.size(), 1U);
  EXPECT_EQ(profile.losses[0].kind, "recording_incomplete");
}

TEST(AnalyzeTest, ARecordThatBelongsToNoCaseIsIgnored) {
  Recording recording = WithCounters({});
  recording.ranges.push_back({2, 99, "", "lost", 0, 0, FullCounters(1)});
  recording.timings.push_back(sample::Timed(99, "", 1));
  recording.launches.push_back(sample::Launched(99, "", "lost", 0, 1));
  EXPECT_EQ(Analyze(recording).entries.size(), 1U);
}

TEST(AnalyzeTest, AbsurdNumbersGiveAbsentMetricsNotUndefinedOnes) {
  Recording recording = MakeRecording();
  for (Launch& launch : recording.launches) {
    launch.start_ns = std::numeric_limits<std::int64_t>::min();
    launch.end_ns = std::numeric_limits<std::int64_t>::max();
    launch.static_shared_memory_bytes = std::numeric_limits<std::int64_t>::max();
  }
  for (Range& range : recording.ranges) {
    for (auto& [name, value] : range.metrics) value = std::numeric_limits<double>::infinity();
  }
  const Profile profile = Analyze(recording);
  for (const ProfileEntry& entry : profile.entries) {
    for (const auto& [id, value] : entry.metrics) EXPECT_TRUE(std::isfinite(value)) << id;
    EXPECT_TRUE(entry.stalls.empty());
  }
}

TEST(AnalyzeTest, AnalysisReadsNoMetricBeyondMetricsForAnalysis) {
  Recording recording = MakeRecording();
  const std::vector<std::string> names = MetricsForAnalysis();
  const std::set<std::string> wanted(names.begin(), names.end());
  for (Range& range : recording.ranges) {
    range.metrics["sm__something_else.sum"] = 1;
    std::erase_if(range.metrics, [&](const auto& item) { return !wanted.contains(item.first); });
  }
  const Profile filtered = Analyze(recording);
  const Profile full = Analyze(MakeRecording());
  ASSERT_EQ(filtered.entries.size(), full.entries.size());
  for (std::size_t i = 0; i < full.entries.size(); ++i) EXPECT_EQ(filtered.entries[i].metrics, full.entries[i].metrics);
}

}  // namespace
}  // namespace fa_profile::analyze::analyze_test
