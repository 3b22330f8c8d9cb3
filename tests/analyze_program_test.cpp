// Where the GPU time of a watched program went: sums over its windows, shares, names.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "fa_profile/analyze.h"
#include "layers.h"
#include "program_recording.h"

namespace fa_profile::analyze::analyze_program_test {
namespace {

constexpr auto kMost = std::numeric_limits<std::int64_t>::max();

const ProfileEntry& EntryOf(const Profile& profile, std::int64_t case_id) {
  for (const ProfileEntry& entry : profile.entries) {
    if (entry.case_id == case_id) return entry;
  }
  throw std::out_of_range("no such case");
}

const DataLoss* LossOf(const Profile& profile, const std::string& kind) {
  for (const DataLoss& loss : profile.losses) {
    if (loss.kind == kind) return &loss;
  }
  return nullptr;
}

TEST(AnalyzeProgramTest, ARecordingWithoutWindowsHasNoProgram) {
  const Profile ladder = Analyze(sample::MakeRecording());
  EXPECT_FALSE(ladder.program);
  for (const ProfileEntry& entry : ladder.entries) EXPECT_FALSE(entry.use);
}

TEST(AnalyzeProgramTest, WindowsAddUpWithoutTheTimeInWhichCountersWereMeasured) {
  const ProgramUse use = *Analyze(sample::MakeProgramRecording()).program;
  EXPECT_EQ(use.windows, 2);
  EXPECT_EQ(use.watched_ns, 900'000'000);
  EXPECT_EQ(use.measuring_ns, 100'000'000);
  EXPECT_EQ(use.busy_ns, 640'000'000);
  EXPECT_DOUBLE_EQ(use.busy_ratio.value(), 640.0 / 900.0);
  EXPECT_DOUBLE_EQ(use.idle_ratio.value(), 1.0 - 640.0 / 900.0);
}

TEST(AnalyzeProgramTest, LaunchesOfAClassAddUpOverWindows) {
  const Profile profile = Analyze(sample::MakeProgramRecording());
  const KernelUse use = EntryOf(profile, 1).use.value();
  EXPECT_EQ(use.launches, 1600);
  EXPECT_EQ(use.graph_launches, 1500);
  EXPECT_EQ(use.total_ns, 320'000'000);
  EXPECT_EQ(use.min_ns, 180'000);
  EXPECT_EQ(use.max_ns, 260'000);
  EXPECT_DOUBLE_EQ(use.share_ratio.value(), 0.64);
  EXPECT_EQ(profile.program->classes, 6);
  EXPECT_EQ(profile.program->launches, 5603);
  EXPECT_EQ(profile.program->graph_launches, 5000);
  EXPECT_EQ(profile.program->kernel_ns, 500'000'000);
  double shares = 0.0;
  for (const ProfileEntry& entry : profile.entries) shares += entry.use->share_ratio.value();
  EXPECT_DOUBLE_EQ(shares, 1.0);
}

TEST(AnalyzeProgramTest, SeveralTimingsOfAClassAreOneSample) {
  Recording recording = sample::EmptyProgram();
  sample::AddClass(recording, 1, "k", "k()");
  recording.timings = {{1, "", "activity", {1000, 2000}}, {1, "", "activity", {3000, 4000, 5000}}};
  const TimingSummary timing = EntryOf(Analyze(recording), 1).timing.value();
  EXPECT_EQ(timing.samples, 5u);
  EXPECT_DOUBLE_EQ(timing.median_ns, 3000.0);
  EXPECT_DOUBLE_EQ(timing.p95_ns, 4800.0);
  EXPECT_DOUBLE_EQ(EntryOf(Analyze(recording), 1).metrics.at("duration_seconds"), 3e-6);
}

TEST(AnalyzeProgramTest, TimingsOfAnotherMethodAreNotMixed) {
  Recording recording = sample::EmptyProgram();
  sample::AddClass(recording, 1, "k", "k()");
  recording.timings = {{1, "", "events", {1000}}, {1, "", "graph replay", {9000}}, {1, "", "events", {2000}}};
  EXPECT_DOUBLE_EQ(EntryOf(Analyze(recording), 1).timing.value().median_ns, 1500.0);
}

TEST(AnalyzeProgramTest, AClassWithoutLaunchesInAnyWindowHasNoUse) {
  Recording recording = sample::EmptyProgram();
  sample::AddClass(recording, 1, "k", "k()");
  recording.kernel_work = {{1, 1, 0, 0, 0, 0, 0}};
  const Profile profile = Analyze(recording);
  EXPECT_FALSE(EntryOf(profile, 1).use);
  EXPECT_EQ(profile.program->classes, 0);
}

TEST(AnalyzeProgramTest, WithoutKernelTimeSharesAreAbsent) {
  Recording recording = sample::EmptyProgram();
  sample::AddClass(recording, 1, "k", "k()");
  recording.kernel_work = {{1, 1, 5, 0, 0, 0, 0}};
  recording.memory_work = {{1, "set", 1, 1, 0}};
  recording.nvtx_work = {{1, "step", 0, 1, 10, 5, 0}};
  const Profile profile = Analyze(recording);
  EXPECT_FALSE(EntryOf(profile, 1).use->share_ratio);
  EXPECT_FALSE(profile.program->memory.at(0).share_ratio);
  EXPECT_FALSE(profile.program->nvtx.at(0).share_ratio);
  EXPECT_FALSE(profile.program->nvtx_ratio);
}

TEST(AnalyzeProgramTest, MemoryWorkAddsUpByKindMostTimeFirst) {
  const ProgramUse use = *Analyze(sample::MakeProgramRecording()).program;
  ASSERT_EQ(use.memory.size(), 3u);
  EXPECT_EQ(use.memory[0].kind, "copy host to device");
  EXPECT_EQ(use.memory[0].operations, 15);
  EXPECT_EQ(use.memory[0].bytes, 15'000'000);
  EXPECT_EQ(use.memory[0].total_ns, 6'000'000);
  EXPECT_DOUBLE_EQ(use.memory[0].share_ratio.value(), 6'000'000.0 / 506'108'000.0);
  EXPECT_EQ(use.memory[1].kind, "set");
  EXPECT_EQ(use.memory[2].kind, "copy device to host");
  EXPECT_EQ(use.memory_ns, 6'108'000);
}

TEST(AnalyzeProgramTest, RangesAddUpByPathInTheOrderOfTheTree) {
  const ProgramUse use = *Analyze(sample::MakeProgramRecording()).program;
  ASSERT_EQ(use.nvtx.size(), 4u);
  const auto row = [&](std::size_t i) { return std::pair(use.nvtx[i].name, use.nvtx[i].level); };
  EXPECT_EQ(row(0), std::pair(std::string("step"), 0));
  EXPECT_EQ(row(1), std::pair(std::string("attn"), 1));
  EXPECT_EQ(row(2), std::pair(std::string("torch: mlp"), 1));
  EXPECT_EQ(row(3), std::pair(std::string("load"), 0));
  EXPECT_EQ(use.nvtx[0].ranges, 16);
  EXPECT_EQ(use.nvtx[0].host_ns, 830'000'000);
  EXPECT_EQ(use.nvtx[0].launches, 5600);
  EXPECT_EQ(use.nvtx[0].gpu_ns, 480'000'000);
  EXPECT_DOUBLE_EQ(use.nvtx[0].share_ratio.value(), 0.96);
  EXPECT_EQ(use.nvtx[1].path, "step / attn");
  EXPECT_DOUBLE_EQ(use.nvtx_ratio.value(), 0.96);
}

TEST(AnalyzeProgramTest, ARangeWhoseOuterRangeHasNoRowIsNestedInTheNearestThatHas) {
  Recording recording = sample::EmptyProgram();
  recording.nvtx_work = {{1, "train / epoch / step", 2, 5, 10, 5, 100},
                         {1, "train / epoch / step / attn", 3, 5, 10, 5, 50},
                         {1, "train / epoch / step / mlp / gemm", 4, 5, 10, 5, 50},
                         {1, "a name / with a slash", 0, 1, 10, 1, 10}};
  const ProgramUse use = *Analyze(recording).program;
  ASSERT_EQ(use.nvtx.size(), 4u);
  EXPECT_EQ(use.nvtx[0].name, "train / epoch / step");
  EXPECT_EQ(use.nvtx[0].level, 0);
  EXPECT_EQ(use.nvtx[1].name, "attn");
  EXPECT_EQ(use.nvtx[2].name, "mlp / gemm");
  EXPECT_EQ(use.nvtx[2].level, 1);
  EXPECT_EQ(use.nvtx[3].name, "a name / with a slash");
}

TEST(AnalyzeProgramTest, ARangeHasItsKernelsAndThoseOfTheRangesNestedInIt) {
  const Profile profile = Analyze(sample::MakeProgramRecording());
  const std::vector<NvtxUse>& ranges = profile.program->nvtx;
  ASSERT_EQ(ranges[0].path, "step");
  ASSERT_EQ(ranges[0].kernels.size(), 4u);
  EXPECT_EQ(ranges[0].kernels[0].kernel, profile.entries[0].kernel);
  EXPECT_EQ(ranges[0].kernels[0].launches, 1600);
  EXPECT_EQ(ranges[0].kernels[0].gpu_ns, 320'000'000);
  EXPECT_DOUBLE_EQ(ranges[0].kernels[0].share_ratio.value(), 320.0 / 480.0);
  EXPECT_EQ(ranges[0].kernels[2].kernel, profile.entries[1].kernel) << "with what tells classes of one name apart";
  ASSERT_EQ(ranges[1].path, "step / attn");
  ASSERT_EQ(ranges[1].kernels.size(), 1u);
  EXPECT_DOUBLE_EQ(ranges[1].kernels[0].share_ratio.value(), 1.0);
  EXPECT_TRUE(ranges[3].kernels.empty());
}

TEST(AnalyzeProgramTest, KernelsOfARangeWithoutARowAreOfTheNearestAroundIt) {
  Recording recording = sample::MakeProgramRecording();
  recording.nvtx_kernel_work = {{1, 1, "step / still open / inner", 10, 5000}, {1, 2, "elsewhere", 10, 5000}};
  const ProgramUse use = *Analyze(recording).program;
  ASSERT_EQ(use.nvtx[0].kernels.size(), 1u);
  EXPECT_EQ(use.nvtx[0].kernels[0].launches, 10);
}

TEST(AnalyzeProgramTest, AGraphHasNoCountersByInstructionBecauseTheyCountNothingThere) {
  Recording recording = sample::MakeProgramRecording();
  recording.cases.push_back({7, "CUDA graph 3", "program", std::nullopt});
  Range graph = recording.ranges[0];
  graph.id = 2;
  graph.case_id = 7;
  for (auto& [name, value] : graph.metrics) value = name.find("__sass_") == std::string::npos ? value : 0.0;
  recording.ranges.push_back(graph);
  const Profile profile = Analyze(recording);
  const auto of = [&](const char* kernel) {
    return std::ranges::find_if(profile.entries,
                                [&](const ProfileEntry& entry) { return entry.kernel.starts_with(kernel); });
  };
  EXPECT_TRUE(of("flash_fwd_kernel")->metrics.contains("fp32_flops"));
  EXPECT_FALSE(of("CUDA graph 3")->metrics.contains("fp32_flops"));
  EXPECT_TRUE(of("CUDA graph 3")->metrics.contains("instructions"));
  EXPECT_EQ(std::ranges::count(profile.losses, "graph_not_counted", &DataLoss::kind), 1);
}

TEST(AnalyzeProgramTest, RangesWhosePathsDifferInNumbersAreOneLayer) {
  Recording recording = sample::MakeProgramRecording();
  recording.nvtx_kernel_work = {{1, 1, "net / layers.0 / mlp", 10, 5000},
                                {2, 1, "net / layers.11 / mlp", 10, 6000},
                                {1, 2, "net / layers.11 / mlp", 10, 7000},
                                {1, 1, "net", 1, 100},
                                {1, 99, "net", 1, 100}};
  const ProgramUse use = *Analyze(recording).program;
  ASSERT_EQ(use.layers.size(), 3u) << "the last is of a case that does not exist";
  EXPECT_EQ(use.layers[0].layer, "net / layers.* / mlp");
  EXPECT_EQ(use.layers[0].case_id, 1);
  EXPECT_EQ(use.layers[0].kernel, EntryOf(Analyze(recording), 1).kernel);
  EXPECT_EQ(use.layers[0].launches, 20);
  EXPECT_EQ(use.layers[0].gpu_ns, 11000);
  EXPECT_DOUBLE_EQ(use.layers[0].share_ratio.value(), 11000.0 / 5e8);
  EXPECT_EQ(use.layers[1].gpu_ns, 7000);
  EXPECT_EQ(use.layers[2].layer, "net");
}

TEST(AnalyzeProgramTest, OnlyNumbersThatAreWordsAreLeftOutOfALayersName) {
  EXPECT_EQ(LayerOf("step 12 / layers.3 / conv2d"), "step * / layers.* / conv2d");
  EXPECT_EQ(LayerOf("block_7/heads[12]"), "block_*/heads[*]");
  EXPECT_EQ(LayerOf(""), "");
  EXPECT_EQ(LayerOf("7"), "*");
}

TEST(AnalyzeProgramTest, WithoutRangesTheirShareIsAbsent) {
  Recording recording = sample::MakeProgramRecording();
  recording.nvtx_work.clear();
  const ProgramUse use = *Analyze(recording).program;
  EXPECT_TRUE(use.nvtx.empty());
  EXPECT_FALSE(use.nvtx_ratio);
}

TEST(AnalyzeProgramTest, AWindowOfNoLengthIsNotDividedBy) {
  Recording recording = sample::EmptyProgram();
  recording.watch_windows = {{1, 5, 5, 0, 0}, {2, 9, 4, 0, 0}};
  const Profile profile = Analyze(recording);
  EXPECT_EQ(profile.program->watched_ns, 0);
  EXPECT_FALSE(profile.program->busy_ratio);
  EXPECT_FALSE(profile.program->idle_ratio);
  EXPECT_EQ(LossOf(profile, "clocks_disagree"), nullptr);
}

TEST(AnalyzeProgramTest, MoreBusyThanWatchedIsADataLossAndNotMoreThanAll) {
  Recording recording = sample::EmptyProgram();
  recording.watch_windows = {{1, 0, 100, 250, 0}, {2, 100, 200, 50, 0}, {3, 200, 200, 5, 0}, {4, 200, 300, 30, 100}};
  const Profile profile = Analyze(recording);
  EXPECT_EQ(profile.program->watched_ns, 200);
  EXPECT_EQ(profile.program->busy_ns, 150) << "each window by itself: one must not fill the gaps of another";
  EXPECT_DOUBLE_EQ(profile.program->busy_ratio.value(), 0.75);
  ASSERT_NE(LossOf(profile, "clocks_disagree"), nullptr);
  EXPECT_EQ(LossOf(profile, "clocks_disagree")->count, 3);
}

TEST(AnalyzeProgramTest, WorkThatRunsOverTheEdgeOfAWindowIsNoDataLoss) {
  Recording recording = sample::EmptyProgram();
  recording.watch_windows = {{1, 0, 1'000'000, 1'009'000, 0}};
  const Profile profile = Analyze(recording);
  EXPECT_DOUBLE_EQ(profile.program->busy_ratio.value(), 1.0);
  EXPECT_EQ(LossOf(profile, "clocks_disagree"), nullptr);
}

TEST(AnalyzeProgramTest, SumsStayAtTheGreatestNumber) {
  Recording recording = sample::EmptyProgram();
  sample::AddClass(recording, 1, "k", "k()");
  recording.watch_windows = {{1, 0, kMost, kMost, kMost}, {2, 0, kMost, kMost, 0}, {3, 0, kMost, kMost, 0}};
  recording.kernel_work = {{1, 1, kMost, kMost, kMost, 0, kMost}, {2, 1, kMost, kMost, kMost, 0, kMost}};
  recording.memory_work = {{1, "set", kMost, kMost, kMost}, {2, "set", kMost, kMost, kMost}};
  recording.nvtx_work = {{1, "a", 0, kMost, kMost, kMost, kMost}, {2, "a", 0, kMost, kMost, kMost, kMost}};
  const ProgramUse use = *Analyze(recording).program;
  EXPECT_EQ(use.watched_ns, kMost);
  EXPECT_EQ(use.launches, kMost);
  EXPECT_EQ(use.memory_ns, kMost);
  EXPECT_EQ(use.nvtx[0].gpu_ns, kMost);
  EXPECT_LE(use.nvtx_ratio.value(), 1.0);
}

TEST(AnalyzeProgramTest, ClassesThatShareANameAreToldApartByTheirTemplateArguments) {
  const Profile profile = Analyze(sample::MakeProgramRecording());
  EXPECT_EQ(EntryOf(profile, 1).kernel, "flash_fwd_kernel<<<64, 128>>>");
  EXPECT_EQ(EntryOf(profile, 2).kernel, "elementwise_kernel<<<64, 128>>> {AddFunctor}");
  EXPECT_EQ(EntryOf(profile, 3).kernel, "elementwise_kernel<<<64, 128>>> {MulFunctor}");
}

TEST(AnalyzeProgramTest, WhatTellsClassesApartHasNoScopes) {
  const auto names = [](const std::string& a, const std::string& b) {
    Recording recording = sample::EmptyProgram();
    sample::AddClass(recording, 1, "k", a);
    sample::AddClass(recording, 2, "k", b);
    recording.kernel_work = {{1, 1, 1, 0, 10, 10, 10}, {1, 2, 1, 0, 10, 10, 10}};
    const Profile profile = Analyze(recording);
    return std::pair(EntryOf(profile, 1).kernel.substr(15), EntryOf(profile, 2).kernel.substr(15));
  };
  using Names = std::pair<std::string, std::string>;
  EXPECT_EQ(
      names("void k<at::(anonymous namespace)::Add<at::Half> >(int)", "void k<at::(anonymous namespace)::Mul>(int)"),
      Names("{Add<Half> }", "{Mul}"));
  EXPECT_EQ(names("void k<a::B<a::c>::D, 4>(int)", "void k<a::E::F, 4>(int)"), Names("{D}", "{F}"));
  EXPECT_EQ(names("k<32>(int)", "k<64>(int)"), Names("{32}", "{64}"));
  EXPECT_EQ(names("k(int)", "k(float)"), Names("{int}", "{float}"));
  EXPECT_EQ(names("k<f(int)::{lambda(int)#1}>()", "k<f(int)::{lambda(int)#2}>()"), Names("{1}", "{2}"));
  EXPECT_EQ(names("a>::b", "c)::d"), Names("{a>b}", "{c)d}"));
}

TEST(AnalyzeProgramTest, NamesOfClassesAreUnique) {
  Recording recording = sample::EmptyProgram();
  const std::string long_name(10'000, 'T');
  sample::AddClass(recording, 1, "k", "k<1>()");
  sample::AddClass(recording, 2, "k", "k<1>()");
  sample::AddClass(recording, 3, "k", "");
  sample::AddClass(recording, 4, "k", "k<" + long_name + "1>()");
  sample::AddClass(recording, 5, "k", "k<" + long_name + "2>()");
  sample::AddClass(recording, 6, "same", "same()");
  sample::AddClass(recording, 7, "same", "same()");
  recording.cases.push_back({8, "same<<<64, 128>>> #2", "program", std::nullopt});
  for (const Case& item : recording.cases) recording.kernel_work.push_back({1, item.id, 1, 0, 10, 10, 10});
  const Profile profile = Analyze(recording);
  std::set<std::string> names;
  for (const ProfileEntry& entry : profile.entries) {
    EXPECT_TRUE(names.insert(entry.kernel).second) << entry.kernel;
    EXPECT_LT(entry.kernel.size(), 120u);
  }
  EXPECT_TRUE(names.contains("same<<<64, 128>>>"));
}

TEST(AnalyzeProgramTest, AKilledRunKeepsWhatItsWindowsCounted) {
  Recording recording = sample::MakeProgramRecording();
  recording.session.complete = false;
  recording.watch_windows.pop_back();
  std::erase_if(recording.kernel_work, [](const KernelWork& work) { return work.window_id == 2; });
  const Profile profile = Analyze(recording);
  EXPECT_EQ(profile.program->watched_ns, 500'000'000);
  EXPECT_EQ(EntryOf(profile, 1).use->launches, 1000);
  EXPECT_FALSE(EntryOf(profile, 5).use) << "its launches were in the lost window";
  EXPECT_NE(LossOf(profile, "recording_incomplete"), nullptr);
}

TEST(AnalyzeProgramTest, OnlyClassesWithARangeHaveCounters) {
  const Profile profile = Analyze(sample::MakeProgramRecording());
  EXPECT_TRUE(EntryOf(profile, 1).has_counters);
  EXPECT_FALSE(EntryOf(profile, 4).has_counters);
}

TEST(AnalyzeProgramTest, DiffFindsAClassByItsLaunchWhateverItsNameIs) {
  Recording other = sample::MakeProgramRecording();
  std::swap(other.cases[1], other.cases[2]);
  // Without its twin the class has its short name.
  std::erase_if(other.kernel_work, [](const KernelWork& work) { return work.case_id == 2; });
  std::erase_if(other.cases, [](const Case& item) { return item.id == 2; });
  const ProfileDiff diff = Diff(Analyze(sample::MakeProgramRecording()), Analyze(other));
  EXPECT_EQ(diff.only_before, std::vector<std::string>{"elementwise_kernel<<<64, 128>>> {AddFunctor}"});
  EXPECT_TRUE(diff.only_after.empty());
}

TEST(AnalyzeProgramTest, EqualProgramsDoNotDiffer) {
  const Recording recording = sample::MakeProgramRecording();
  Recording again = recording;  // other windows, a little noise
  for (Timing& timing : again.timings) {
    for (double& duration : timing.durations_ns) duration *= 1.002;
  }
  for (KernelWork& work : again.kernel_work) work.total_ns = work.total_ns * 1002 / 1000;
  again.watch_windows[0].busy_ns += 1'000'000;
  const ProfileDiff diff = Diff(Analyze(recording), Analyze(again));
  EXPECT_FALSE(diff.changes.empty());
  for (const MetricChange& change : diff.changes) EXPECT_EQ(change.judgement, "same") << change.metric;
  EXPECT_TRUE(diff.only_before.empty() && diff.only_after.empty());
}

TEST(AnalyzeProgramTest, ASlowerClassIsWorseAndAGreaterShareChanged) {
  Recording slower = sample::MakeProgramRecording();
  for (double& duration : slower.timings[4].durations_ns) duration *= 1.5;
  for (KernelWork& work : slower.kernel_work) work.total_ns = work.total_ns * (work.case_id == 4 ? 150 : 100) / 100;
  const ProfileDiff diff = Diff(Analyze(sample::MakeProgramRecording()), Analyze(slower));
  std::map<std::string, std::string> judgements;
  for (const MetricChange& change : diff.changes) {
    if (change.kernel == "gemm_kernel<<<64, 128>>>") judgements[change.metric] = change.judgement;
  }
  EXPECT_EQ(judgements["duration_seconds"], "worse");
  EXPECT_EQ(judgements["kernel_time_share_ratio"], "changed");
}

TEST(AnalyzeProgramTest, MediansOfFewLaunchesDifferOnlyBeyondTheirError) {
  Recording before = sample::EmptyProgram();
  sample::AddClass(before, 1, "k", "k()");
  before.kernel_work = {{1, 1, 4, 0, 8000, 1500, 2500}};
  before.timings = {{1, "", "activity", {1500, 1900, 2100, 2500}}};
  Recording after = before;
  after.timings[0].durations_ns = {1600, 2100, 2300, 2600};  // 10 % up, and no evidence of anything
  const auto judgement = [](const ProfileDiff& diff) {
    for (const MetricChange& change : diff.changes) {
      if (change.metric == "duration_seconds") return change.judgement;
    }
    return std::string();
  };
  EXPECT_EQ(judgement(Diff(Analyze(before), Analyze(after))), "same");
  before.timings[0].durations_ns = {2000};
  after.timings[0].durations_ns = {2400};
  EXPECT_EQ(judgement(Diff(Analyze(before), Analyze(after))), "same");
  for (double& duration : after.timings[0].durations_ns) duration *= 2;
  EXPECT_EQ(judgement(Diff(Analyze(before), Analyze(after))), "worse");
}

}  // namespace
}  // namespace fa_profile::analyze::analyze_program_test
