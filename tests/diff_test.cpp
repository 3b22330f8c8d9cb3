#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/analyze.h"
#include "sample_recording.h"

namespace fa_profile::analyze::diff_test {
namespace {

using sample::MakeRecording;

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
}  // namespace fa_profile::analyze::diff_test
