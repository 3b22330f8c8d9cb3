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

TEST(DiffTest, AProfileDoesNotDifferFromItself) {
  const Profile profile = Analyze(MakeRecording());
  const ProfileDiff diff = Diff(profile, profile);
  EXPECT_TRUE(diff.incomparable.empty());
  EXPECT_TRUE(diff.only_before.empty());
  EXPECT_TRUE(diff.only_after.empty());
  ASSERT_FALSE(diff.changes.empty());
  for (const MetricChange& change : diff.changes) EXPECT_EQ(change.judgement, "same") << change.metric;
}

MetricChange ChangeOf(const ProfileDiff& diff, const std::string& metric) {
  const auto found = std::ranges::find(diff.changes, metric, &MetricChange::metric);
  return found == diff.changes.end() ? MetricChange{} : *found;
}

/// Diff of one entry with one metric.
MetricChange Change(const char* metric, std::optional<double> before, std::optional<double> after) {
  Profile a;
  a.entries.resize(1);
  Profile b = a;
  if (before) a.entries[0].metrics[metric] = *before;
  if (after) b.entries[0].metrics[metric] = *after;
  return ChangeOf(Diff(a, b), metric);
}

TEST(DiffTest, PolarityDecidesWhatIsWorse) {
  EXPECT_EQ(Change("duration_seconds", 1.0, 1.5).judgement, "worse");
  EXPECT_EQ(Change("duration_seconds", 1.5, 1.0).judgement, "better");
  EXPECT_EQ(Change("tensor_core_utilization_ratio", 0.5, 0.4).judgement, "worse");
  EXPECT_EQ(Change("registers_per_thread", 128, 168).judgement, "changed");
  EXPECT_DOUBLE_EQ(*Change("duration_seconds", 1.0, 1.5).ratio, 0.5);
}

TEST(DiffTest, AMetricMovesBeyondItsErrorAlone) {
  EXPECT_EQ(Change("duration_seconds", 1.0, 1.019).judgement, "same");
  EXPECT_EQ(Change("duration_seconds", 1.0, 1.021).judgement, "worse");
  EXPECT_EQ(Change("instructions", 1000000, 1004999).judgement, "same");
  EXPECT_EQ(Change("instructions", 1000000, 1005001).judgement, "worse");
  EXPECT_EQ(Change("gap_launches_seconds", 8e-6, 32e-6).judgement, "same") << "of one call by the CPU";
  EXPECT_EQ(Change("gap_launches_seconds", 8e-6, 34e-6).judgement, "worse");
}

TEST(DiffTest, TinySharesAreTheSameHoweverMuchTheyChanged) {
  EXPECT_EQ(Change("sm_active_ratio", 0.004, 0.002).judgement, "same");
  EXPECT_EQ(Change("sm_active_ratio", 0.034, 0.020).judgement, "worse");
  const auto conflicts = [](double before, double after) {
    Profile a;
    a.entries.resize(1);
    a.entries[0].metrics = {{"shared_wavefronts", 1e6}, {"shared_excess_wavefronts", before}};
    Profile b = a;
    b.entries[0].metrics["shared_excess_wavefronts"] = after;
    return ChangeOf(Diff(a, b), "shared_excess_wavefronts").judgement;
  };
  EXPECT_EQ(conflicts(1000, 10'900), "same");
  EXPECT_EQ(conflicts(1000, 11'100), "worse");
}

TEST(DiffTest, RatesShareTheErrorOfTheTime) {
  Profile before;
  ProfileEntry& entry = before.entries.emplace_back();
  entry.timing = TimingSummary{"events", 100, 1000.0, 990.0, 1010.0, 980.0, 0.02};
  entry.metrics = {{"duration_seconds", 1e-6}, {"achieved_flops_per_second", 1e12}};
  const auto moved_by = [&](double factor, const char* metric) {
    Profile after = before;
    after.entries[0].timing->median_ns *= factor;
    after.entries[0].metrics = {{"duration_seconds", factor * 1e-6}, {"achieved_flops_per_second", 1e12 / factor}};
    return ChangeOf(Diff(before, after), metric).judgement;
  };
  for (const char* const metric : {"duration_seconds", "achieved_flops_per_second"}) {
    EXPECT_EQ(moved_by(1.025, metric), "same") << metric << ": so do two processes of the same code";
    EXPECT_EQ(moved_by(1.03, metric), "worse") << metric;
  }
}

TEST(DiffTest, ATimeMovesOnlyBeyondTheSpreadOfItsSamples) {
  Recording before = MakeRecording();
  before.timings[0].durations_ns = {900, 950, 1000, 1050, 1100};
  Recording after = before;
  const auto moved_by = [&](double factor) {
    for (std::size_t i = 0; i < 5; ++i) after.timings[0].durations_ns[i] = factor * before.timings[0].durations_ns[i];
    return ChangeOf(Diff(Analyze(before), Analyze(after)), "duration_seconds").judgement;
  };
  EXPECT_EQ(moved_by(1.05), "same");
  EXPECT_EQ(moved_by(1.5), "worse");
}

TEST(DiffTest, APhasesTimeMovesBeyondAHundredthOfTheLongerCallAlone) {
  const auto judgement = [](const Profile& before, const Profile& after) {
    for (const MetricChange& change : Diff(before, after).changes) {
      if (change.phase == "softmax" && change.metric == "phase_time_seconds") return change.judgement;
    }
    return std::string();
  };
  Profile quick = Analyze(MakeRecording());
  ProfileEntry& entry = quick.entries[0];
  std::ranges::find(entry.phases->phases, "softmax", &PhaseEntry::name)->metrics = {{"phase_time_seconds", 100e-9}};
  Profile slow = quick;
  slow.entries[0].timing->median_ns = 10 * entry.timing->median_ns;
  std::ranges::find(slow.entries[0].phases->phases, "softmax", &PhaseEntry::name)->metrics = {
      {"phase_time_seconds", 300e-9}};
  EXPECT_EQ(judgement(quick, slow), "same");
  EXPECT_EQ(judgement(slow, quick), "same");
  slow.entries[0].timing->median_ns = entry.timing->median_ns;
  EXPECT_EQ(judgement(quick, slow), "worse");
  EXPECT_EQ(judgement(slow, quick), "better");
}

TEST(DiffTest, AChangeFromZeroIsJudgedWithoutARatio) {
  const MetricChange change = Change("local_memory_bytes", 0.0, 4096.0);
  EXPECT_FALSE(change.ratio);
  EXPECT_EQ(change.judgement, "worse");
}

TEST(DiffTest, AMetricOfOneSideIsReportedAsNewOrGone) {
  EXPECT_EQ(Change("instructions", std::nullopt, 5.0).judgement, "new");
  EXPECT_EQ(Change("instructions", 5.0, std::nullopt).judgement, "gone");
  EXPECT_FALSE(Change("instructions", 5.0, std::nullopt).ratio);
}

TEST(DiffTest, LargestChangeFirstAndCorrectnessBeforeAll) {
  Recording recording = MakeRecording();
  const Profile before = Analyze(recording);
  recording.ranges[0].metrics["smsp__inst_executed.sum"] *= 1.1;
  recording.ranges[0].metrics["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"] *= 3;
  recording.verifications[0].draws_passed = 99;
  const ProfileDiff diff = Diff(before, Analyze(recording));
  ASSERT_GE(diff.changes.size(), 3U);
  EXPECT_EQ(diff.changes[0].metric, "correct");
  EXPECT_EQ(diff.changes[0].judgement, "worse");
  EXPECT_EQ(diff.changes[1].metric, "duration_seconds");
  EXPECT_EQ(diff.changes[1].judgement, "gone");
  const auto other = std::find_if(diff.changes.begin() + 2, diff.changes.end(),
                                  [](const MetricChange& change) { return change.metric != "phase_time_seconds"; });
  ASSERT_NE(other, diff.changes.end());
  EXPECT_EQ(other->metric, "shared_excess_wavefronts");
  EXPECT_DOUBLE_EQ(*other->ratio, 2.0);
}

TEST(DiffTest, TheTimeOfTheCallAndThenOfItsPhasesComesBeforeLargerChanges) {
  Recording recording = MakeRecording();
  Profile before = Analyze(recording);
  recording.ranges[0].metrics["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"] *= 3;
  Profile after = Analyze(recording);
  const auto set_times = [](Profile& profile, double call, double qk, double softmax) {
    ProfileEntry& entry = profile.entries[0];
    entry.metrics["duration_seconds"] = call;
    PhaseEntry phase = entry.phases->phases.front();
    entry.phases->phases.clear();
    for (const auto& [name, seconds] : {std::pair("qk", qk), std::pair("softmax", softmax)}) {
      phase.name = name;
      phase.metrics = {{"phase_time_seconds", seconds}, {"phase_instructions", 1e9 * seconds}};
      entry.phases->phases.push_back(phase);
    }
  };
  // qk has the larger change, softmax more time.
  set_times(before, 10e-6, 1e-6, 5e-6);
  set_times(after, 12e-6, 2e-6, 7e-6);
  std::vector<std::string> first;
  for (const MetricChange& change : Diff(before, after).changes) {
    if (first.size() < 4) first.push_back(change.phase + " " + change.metric);
  }
  EXPECT_EQ(first, (std::vector<std::string>{" duration_seconds", "softmax phase_time_seconds", "qk phase_time_seconds",
                                             " shared_excess_wavefronts"}));
}

/// One call whose warps were active for this many cycles, with these waits.
Profile Waiting(double warp_cycles, std::vector<AsyncWait> waits) {
  Profile profile;
  ProfileEntry& entry = profile.entries.emplace_back();
  entry.kernel = "k";
  entry.metrics["warps_active_cycles"] = warp_cycles;
  PhaseTable& phases = entry.phases.emplace();
  phases.phases = {{"sync", {{"phase_instructions", 1000.0}}, {}}};
  phases.samples = 1000;
  phases.async_waits = std::move(waits);
  return profile;
}

TEST(DiffTest, APhaseMovesBeyondTheErrorOfItsSamplesAlone) {
  const auto judgement = [](std::uint64_t samples, const char* metric, double before, double after) {
    Profile a = Waiting(1e5, {});
    a.entries[0].phases->samples = samples;
    a.entries[0].phases->phases = {{"load_q", {{"phase_warp_time_ratio", 0.02}, {metric, before}}, {}},
                                   {"qk", {{"phase_instructions", 1e6}}, {}}};
    Profile b = a;
    b.entries[0].phases->phases[0].metrics[metric] = after;
    return ChangeOf(Diff(a, b), metric).judgement;
  };
  EXPECT_EQ(judgement(1'000, "phase_waiting_ratio", 0.23, 0.40), "same") << "20 samples of the phase's own";
  EXPECT_EQ(judgement(100'000, "phase_waiting_ratio", 0.23, 0.40), "worse");
  EXPECT_EQ(judgement(1'000, "phase_time_ratio", 0.10, 0.13), "same");
  EXPECT_EQ(judgement(100'000, "phase_time_ratio", 0.10, 0.13), "changed");
  EXPECT_EQ(judgement(1'000, "phase_instructions", 4'000, 8'900), "changed") << "0.5 % of the kernel's";
  EXPECT_EQ(judgement(1'000, "phase_instructions", 4'000, 9'100), "worse");
}

AsyncWait Wait(const char* phase, const char* place, double waits, double cycles, const char* kind = "mbarrier") {
  return {kind, phase, place, waits, cycles, {}, {}, {}};
}

/// "sync k.cu:7 -> k.cu:9 worse".
std::vector<std::string> WaitLines(const ProfileDiff& diff) {
  std::vector<std::string> lines;
  for (const WaitChange& change : diff.waits) {
    const auto place = [](const std::optional<WaitSide>& side) { return side ? side->place : "-"; };
    lines.push_back(change.phase + " " + place(change.before) + " -> " + place(change.after) + " " + change.judgement);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(DiffTest, AWaitIsWorseByTheCyclesOfAllWarpsBefore) {
  // 100 waits of 50 cycles were 5 % of the warps' time; 100 of 150 are 10 % of a longer time, and 15 % of what it was.
  const ProfileDiff diff =
      Diff(Waiting(1e5, {Wait("sync", "k.cu:7", 100, 50)}), Waiting(1.5e5, {Wait("sync", "k.cu:7", 100, 150)}));
  ASSERT_EQ(WaitLines(diff), Lines{"sync k.cu:7 -> k.cu:7 worse"});
  EXPECT_EQ(diff.waits[0].kind, "mbarrier");
  EXPECT_DOUBLE_EQ(diff.waits[0].before->warps_ratio, 0.05);
  EXPECT_DOUBLE_EQ(diff.waits[0].after->warps_ratio, 0.10);
  EXPECT_DOUBLE_EQ(diff.waits[0].cost_ratio, 0.10);
}

TEST(DiffTest, AWaitMovesByAHundredthOfTheWarpsTimeAndTheLargestMoveComesFirst) {
  const auto sides = [](double a, double b, double c) {
    return Waiting(1e5, {Wait("qk", "k.cu:1", 100, a), Wait("pv", "k.cu:2", 100, b), Wait("sync", "k.cu:3", 100, c)});
  };
  EXPECT_EQ(WaitLines(Diff(sides(50, 50, 50), sides(59.9, 61, 20))),
            (Lines{"sync k.cu:3 -> k.cu:3 better", "pv k.cu:2 -> k.cu:2 worse", "qk k.cu:1 -> k.cu:1 same"}));
}

TEST(DiffTest, WaitsWhoseLinesMovedAreTheSameInTheirOrder) {
  const auto at = [](const char* first, const char* second, double cycles) {
    return Waiting(1e5, {Wait("sync", second, 100, 20), Wait("sync", first, 100, cycles)});
  };
  EXPECT_EQ(WaitLines(Diff(at("k.cu:9", "k.cu:10", 50), at("k.cu:12", "k.cu:13", 80))),
            (Lines{"sync k.cu:9 -> k.cu:12 worse", "sync k.cu:10 -> k.cu:13 same"}));
  EXPECT_EQ(WaitLines(Diff(at("0x9f0", "0x1000", 50), at("0xa00", "0x1010", 80))),
            (Lines{"sync 0x9f0 -> 0xa00 worse", "sync 0x1000 -> 0x1010 same"}));
  EXPECT_EQ(WaitLines(Diff(at("k.cu:9", "k.cu:10", 50), at("k.cu:10", "k.cu:11", 50))),
            (Lines{"sync k.cu:9 -> k.cu:10 same", "sync k.cu:10 -> k.cu:11 same"}))
      << "the second's new line is the first's old one";
}

TEST(DiffTest, AWaitOfOneSideIsNewOrGoneAndNotAnotherPhasesOrKinds) {
  const Profile none = Waiting(1e5, {});
  const Profile one = Waiting(1e5, {Wait("sync", "k.cu:7", 100, 50)});
  EXPECT_EQ(WaitLines(Diff(none, one)), Lines{"sync - -> k.cu:7 new"});
  EXPECT_EQ(WaitLines(Diff(one, none)), Lines{"sync k.cu:7 -> - gone"});
  EXPECT_EQ(WaitLines(Diff(one, Waiting(1e5, {Wait("pv", "k.cu:7", 100, 50)}))).size(), 2U);
  EXPECT_EQ(WaitLines(Diff(one, Waiting(1e5, {Wait("sync", "k.cu:7", 100, 50, "matrix")}))).size(), 2U);
  const Profile two = Waiting(1e5, {Wait("sync", "k.cu:8", 100, 50), Wait("sync", "k.cu:9", 100, 0.1)});
  EXPECT_EQ(WaitLines(Diff(one, two)),
            (Lines{"sync k.cu:7 -> - gone", "sync - -> k.cu:8 new", "sync - -> k.cu:9 same"}))
      << "which of the two it became is not known";
  const Profile same = Waiting(1e5, {Wait("sync", "k.cu:7", 100, 50), Wait("sync", "k.cu:9", 100, 20)});
  EXPECT_EQ(WaitLines(Diff(one, same)), (Lines{"sync - -> k.cu:9 new", "sync k.cu:7 -> k.cu:7 same"}));
  const Profile other = Waiting(1e5, {Wait("sync", "k.cu:7", 300, 50), Wait("sync", "k.cu:9", 100, 0.1)});
  EXPECT_EQ(WaitLines(Diff(one, other)),
            (Lines{"sync - -> k.cu:7 new", "sync k.cu:7 -> - gone", "sync - -> k.cu:9 same"}))
      << "warps wait there more often: the line may be another's now";
}

TEST(DiffTest, WaitsAndFindingsAreNotComparedWithASideWithoutTheirMeasurements) {
  const Profile known = Waiting(1e5, {Wait("sync", "k.cu:7", 100, 50)});
  Profile unknown = known;
  unknown.entries[0].metrics.clear();
  EXPECT_TRUE(Diff(known, unknown).waits.empty()) << "the time of its warps";
  const auto without = [&](const char* what, auto take) {
    unknown = known;
    take(*unknown.entries[0].phases);
    unknown.entries[0].findings = {{"exp-bound", "softmax", "66 %", "", 0.5}};
    EXPECT_TRUE(Diff(known, unknown).waits.empty()) << what;
    EXPECT_TRUE(Diff(unknown, known).waits.empty()) << what;
    EXPECT_TRUE(Diff(known, unknown).findings.empty()) << what;
  };
  without("samples", [](PhaseTable& phases) { phases.samples = 0; });
  without("counts", [](PhaseTable& phases) { phases.phases[0].metrics.clear(); });
  unknown = known;
  unknown.session.metric_set = "basic";
  unknown.entries[0].findings = {{"exp-bound", "softmax", "66 %", "", 0.5}};
  EXPECT_TRUE(Diff(known, unknown).findings.empty()) << "another metric set";
  unknown.entries[0].phases.reset();
  EXPECT_TRUE(Diff(unknown, known).waits.empty());
}

TEST(DiffTest, TheWorkBesideProductsIsCompared) {
  Profile before = Waiting(1e5, {});
  Profile after = before;
  after.entries[0].phases->overlap = ProductOverlap{0.9, {}};
  EXPECT_EQ(ChangeOf(Diff(before, after), "product_overlap_ratio").judgement, "new");
  before.entries[0].phases->overlap = ProductOverlap{0.86, {}};
  EXPECT_EQ(ChangeOf(Diff(before, after), "product_overlap_ratio").judgement, "same");
  before.entries[0].phases->overlap = ProductOverlap{0.0, {}};
  EXPECT_EQ(ChangeOf(Diff(before, after), "product_overlap_ratio").judgement, "changed");
}

TEST(DiffTest, AFindingOfOneSideIsNewOrGone) {
  Profile before = Waiting(1e5, {});
  Profile after = before;
  before.entries[0].findings = {{"exp-bound", "softmax", "66 %", "", 0.5}, {"spills", "qk", "1 MB", "", 0.1}};
  after.entries[0].findings = {{"exp-bound", "softmax", "60 %", "", 0.5}, {"spills", "pv", "2 MB", "", 0.1}};
  Lines found;
  for (const FindingChange& change : Diff(before, after).findings) {
    found.push_back(change.kernel + " " + change.finding.id + " " + change.finding.phase + " " + change.judgement);
  }
  EXPECT_EQ(found, (Lines{"k spills pv new", "k spills qk gone"}));
}

TEST(DiffTest, EachChangeNamesItsPairOfEntriesAlsoWhereNamesAreEqual) {
  Profile before = Waiting(1e5, {Wait("sync", "k.cu:7", 100, 50)});
  before.entries.push_back(before.entries[0]);
  Profile after = before;
  after.entries.insert(after.entries.begin(), ProfileEntry());
  after.entries[2].phases->async_waits[0].waited_cycles = 90;
  after.entries[2].findings = {{"exp-bound", "softmax", "66 %", "", 0.5}};
  const ProfileDiff diff = Diff(before, after);
  ASSERT_EQ(diff.entries.size(), 2U);
  EXPECT_EQ(diff.entries[1].before, 1U);
  EXPECT_EQ(diff.entries[1].after, 2U);
  ASSERT_EQ(diff.waits.size(), 2U);
  EXPECT_EQ(diff.waits[0].judgement, "same");
  EXPECT_EQ(diff.waits[1].entry, 1U);
  EXPECT_EQ(diff.waits[1].judgement, "worse");
  ASSERT_EQ(diff.findings.size(), 1U);
  EXPECT_EQ(diff.findings[0].entry, 1U);
  for (const MetricChange& change : diff.changes) EXPECT_LE(change.entry.value(), 1U);
}

TEST(DiffTest, EntriesOfOnlyOneSideAreNamed) {
  Recording recording = MakeRecording();
  const Profile before = Analyze(recording);
  recording.cases[0].kernel = "mma_v2";
  const ProfileDiff diff = Diff(before, Analyze(recording));
  EXPECT_EQ(diff.only_before, (std::vector<std::string>{"mma@1,8,512,64"}));
  EXPECT_EQ(diff.only_after, (std::vector<std::string>{"mma_v2@1,8,512,64"}));
}

TEST(DiffTest, ReasonsWhyTwoRunsCannotBeComparedAreReported) {
  const Profile before = Analyze(MakeRecording());
  Profile after = before;
  after.device.name = "NVIDIA L4";
  after.device.driver_version = "590.1";
  after.session.metric_set = "basic";
  after.session.cache_policy = "flush";
  after.clocks[0].sm_hz = 1200000000;
  const ProfileDiff diff = Diff(before, after);
  EXPECT_EQ(diff.incomparable, (std::vector<std::string>{
                                   "GPU: NVIDIA H200 before, NVIDIA L4 after", "driver: 580.159.04 before, 590.1 after",
                                   "metric set: full before, basic after", "cache policy: warm before, flush after",
                                   "SM clock: 1980 MHz before, 1200 MHz after"}));
}

TEST(DiffTest, WhatCannotBeComparedIsNotJudged) {
  const Profile before = Analyze(MakeRecording());
  Profile after = before;
  after.device.name = "NVIDIA L4";
  after.entries[0].metrics["duration_seconds"] *= 2.0;
  after.entries[0].findings.push_back({"exp-bound", "softmax", "", "", 0.5});
  const ProfileDiff diff = Diff(before, after);
  EXPECT_EQ(ChangeOf(diff, "duration_seconds").judgement, "not comparable");
  EXPECT_TRUE(ChangeOf(diff, "duration_seconds").ratio);
  for (const MetricChange& change : diff.changes) {
    EXPECT_EQ(change.judgement, change.before == change.after ? "same" : "not comparable") << change.metric;
  }
  EXPECT_TRUE(diff.findings.empty());
}

TEST(DiffTest, TimesOfTwoCardsOfAModelAreJudgedBeyondWhatCardsDifferBy) {
  const Profile before = Analyze(MakeRecording());
  Profile after = before;
  after.entries[0].metrics["duration_seconds"] *= 1.08;
  EXPECT_TRUE(Diff(before, after).notes.empty());
  EXPECT_EQ(ChangeOf(Diff(before, after), "duration_seconds").judgement, "worse");
  after.device.uuid = "GPU-another";
  const ProfileDiff diff = Diff(before, after);
  EXPECT_TRUE(diff.incomparable.empty());
  ASSERT_EQ(diff.notes.size(), 1U);
  EXPECT_TRUE(diff.notes[0].starts_with("two cards: " + before.device.uuid + " before, GPU-another after; "));
  EXPECT_EQ(ChangeOf(diff, "duration_seconds").judgement, "same");
  after.entries[0].metrics["duration_seconds"] *= 1.08;
  EXPECT_EQ(ChangeOf(Diff(before, after), "duration_seconds").judgement, "worse");
  after.device.driver_version = "590.1";
  EXPECT_EQ(Diff(before, after).notes,
            std::vector<std::string>{"two cards: " + before.device.uuid + " before, GPU-another after"});
  after.device.driver_version = before.device.driver_version;
  after.device.uuid.clear();  // redacted
  EXPECT_TRUE(Diff(before, after).notes.empty());
  after.device = before.device;
  after.device.name = "NVIDIA L4";
  after.device.uuid = "GPU-another";
  EXPECT_TRUE(Diff(before, after).notes.empty()) << "it says that they cannot be compared";
}

TEST(DiffTest, ACountThatOneSideDoesNotTakeIsNotCounted) {
  Profile before = Analyze(MakeRecording());
  std::vector<PhaseEntry>& phases = before.entries[0].phases->phases;
  phases.resize(1);
  phases[0].metrics = {{"phase_instructions", 10.0}, {"phase_global_bytes", 64.0}};
  before.entries.resize(1);
  Profile after = before;
  auto& metrics = after.entries[0].phases->phases[0].metrics;
  metrics.erase("phase_global_bytes");
  EXPECT_EQ(ChangeOf(Diff(before, after), "phase_global_bytes").judgement, "not counted");
  EXPECT_EQ(ChangeOf(Diff(after, before), "phase_global_bytes").judgement, "not counted");
  metrics.clear();
  EXPECT_EQ(ChangeOf(Diff(before, after), "phase_global_bytes").judgement, "gone");
}

TEST(DiffTest, PhasesOfTwoModelsAreNotCompared) {
  const Profile named = Analyze(MakeRecording());
  Profile inferred = named;
  inferred.entries[0].phases->attribution = kInferredPhasesName;
  inferred.entries[0].findings.clear();
  const ProfileDiff diff = Diff(named, inferred);
  ASSERT_EQ(diff.not_compared.size(), 1U);
  EXPECT_TRUE(diff.not_compared[0].ends_with(": named before, inferred after")) << diff.not_compared[0];
  for (const MetricChange& change : diff.changes)
    EXPECT_NE(std::pair(change.entry, !change.phase.empty()), std::pair(std::optional<std::size_t>(0), true));
  for (const FindingChange& change : diff.findings) EXPECT_NE(change.entry, 0U);
}

}  // namespace
}  // namespace fa_profile::analyze::analyze_test
