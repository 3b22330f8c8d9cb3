#include "fa_profile/python_recording.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "fa_profile/analyze.h"
#include "fa_profile/recording_evidence.h"
#include "fa_profile/recording_file.h"
#include "sample_recording.h"
#include "test_files.h"

namespace fa_profile::python::python_recording_test {
namespace {

constexpr const char* kOrigin = "/data/softmax.py:softmax";
constexpr PythonCalls kCalls{104, 4};

// A process that called a kernel: the classes, each with how often a call launches it.
class Program {
 public:
  Program() {
    recording_.session = sample::FullSession();
    recording_.device = sample::H200();
    recording_.clocks = {{"before", 1980000000, 3201000000, 34.0, 121.5, 0}, {"after", 1755000000, {}, 40.0, {}, 0}};
    recording_.watch_windows = {{90, 0, 1'000'000'000, 400'000'000, 0}};
    recording_.configs = {{91, "GH100", 34, {"smsp__inst_executed.sum"}}};
  }

  // `counted`: launches in the NVTX range of four calls; 0: it has no row there.
  Program& Class(const std::string& name, std::int64_t launches, std::int64_t counted) {
    const std::int64_t id = ++classes_;
    recording_.cases.push_back({id, name + "<<<64, 128>>>", "program", std::nullopt});
    Launch launch = sample::Launched(id, "", name + "(Params)", 1000 * id, 1000 * id + 500);
    recording_.launches.push_back(launch);
    recording_.timings.push_back({id, "", "activity", {490.0, 500.0, 510.0}});
    recording_.kernel_work.push_back({90, id, launches, 0, 500 * launches, 490, 510});
    if (counted > 0) recording_.nvtx_kernel_work.push_back({90, id, kCountRange, counted, 500 * counted});
    recording_.ranges.push_back({id,
                                 id,
                                 "",
                                 name,
                                 0,
                                 0,
                                 {{"smsp__inst_executed.sum", 1000.0 * static_cast<double>(id)},
                                  {"sm__cycles_elapsed.max", 700.0},
                                  {"sm__inst_executed.avg.per_cycle_active", 0.5}}});
    return *this;
  }
  Program& Code(std::int64_t id, std::uint64_t crc, const std::string& name) {
    DeviceFunction function = sample::Code();
    function.id = 10 + id;
    function.cubin_crc = crc;
    function.name = name;
    recording_.functions.push_back(function);
    recording_.cubins.push_back({20 + id, crc, {1, 2, 3}});
    PcSampling sampling = sample::Sampled();
    sampling.id = sampling.case_id = id;
    for (PcSample& sample : sampling.samples) sample.function_id = function.id;
    recording_.samplings.push_back(sampling);
    SassCounting counting = sample::Counted();
    counting.id = counting.case_id = id;
    for (SassCount& count : counting.counts) count.function_id = function.id;
    recording_.countings.push_back(counting);
    return *this;
  }
  Program& Loss(const DataLoss& loss) {
    recording_.losses.push_back(loss);
    return *this;
  }
  Recording recording() const { return recording_; }

 private:
  Recording recording_;
  std::int64_t classes_ = 0;
};

Recording Base() {
  Recording base;
  base.session = sample::FullSession();
  base.session.replay_mode = "spread";
  base.device = sample::H200();
  return base;
}

MeasuredCase Measured(const std::string& name, const Program& program) {
  return {name, sample::Correct(0), {}, sample::Timed(0, "", 600.0), program.recording(), kCalls};
}

Recording RecordingOf(const Program& program) {
  return ToKernelRecording(Base(), kOrigin, {Measured("softmax@rows=4", program)});
}

std::vector<std::string> PartsOf(const Recording& recording) {
  std::vector<std::string> parts;
  for (const Launch& launch : recording.launches) parts.push_back(launch.part);
  return parts;
}

TEST(PythonRecordingTest, ACallOfOneLaunchIsACaseWithThatLaunchsCounters) {
  const Recording recording = RecordingOf(Program().Class("softmax_kernel", 100, 4).Code(1, 7, "_Z1s"));
  ASSERT_EQ(recording.cases.size(), 1U);
  EXPECT_EQ(recording.cases[0].kernel, "softmax@rows=4");
  EXPECT_EQ(recording.cases[0].origin, kOrigin);
  EXPECT_TRUE(recording.verifications[0].correct());
  ASSERT_EQ(recording.timings.size(), 1U);
  EXPECT_EQ(recording.timings[0].method, "graph replay");
  EXPECT_EQ(PartsOf(recording), std::vector<std::string>{""});
  ASSERT_EQ(recording.ranges.size(), 1U);
  EXPECT_EQ(recording.ranges[0].metrics.at("smsp__inst_executed.sum"), 1000.0);
  EXPECT_EQ(recording.ranges[0].image_id, 0);
  EXPECT_TRUE(recording.watch_windows.empty());
  EXPECT_TRUE(recording.kernel_work.empty());
  EXPECT_TRUE(recording.nvtx_kernel_work.empty());
  EXPECT_EQ(recording.samplings[0].total_samples, 10000U);
  EXPECT_EQ(recording.samplings[0].launches, 104);
  EXPECT_TRUE(recording.losses.empty());
}

TEST(PythonRecordingTest, OfACallOfSeveralLaunchesKernelsArePartsAndCountsAreAdded) {
  const Recording recording =
      RecordingOf(Program().Class("scale", 100, 4).Class("reduce", 200, 8).Code(1, 7, "_Z1a").Code(2, 8, "_Z1b"));
  EXPECT_EQ(PartsOf(recording),
            (std::vector<std::string>{"scale<<<64, 128>>>", "reduce<<<64, 128>>> x2", "reduce<<<64, 128>>> x2"}));
  ASSERT_EQ(recording.ranges.size(), 3U);
  EXPECT_EQ(recording.ranges[1].metrics.at("smsp__inst_executed.sum"), 4000.0);  // twice 2000
  EXPECT_EQ(recording.ranges[1].metrics.at("sm__cycles_elapsed.max"), 1400.0);
  EXPECT_EQ(recording.ranges[1].metrics.at("sm__inst_executed.avg.per_cycle_active"), 0.5);
  const Range& whole = recording.ranges[2];
  EXPECT_EQ(whole.part, "");
  EXPECT_EQ(whole.metrics, (std::map<std::string, double>{{"smsp__inst_executed.sum", 5000.0}}));
  EXPECT_EQ(recording.timings[2].durations_ns, (std::vector<double>{980.0, 1000.0, 1020.0}));
  ASSERT_EQ(recording.samplings.size(), 1U);
  EXPECT_EQ(recording.samplings[0].total_samples, 20000U);
  ASSERT_EQ(recording.countings.size(), 1U);
  EXPECT_EQ(recording.countings[0].counts[0].values.at("smsp__sass_inst_executed"), 20000U);
  EXPECT_EQ(recording.countings[0].counts[7].values.at("smsp__sass_inst_executed"), 40000U);
}

TEST(PythonRecordingTest, KernelsOfOneNameAreNumbered) {
  const Recording recording = RecordingOf(Program().Class("add", 100, 4).Class("add", 200, 8).Class("mul", 100, 4));
  EXPECT_EQ(PartsOf(recording), (std::vector<std::string>{"add<<<64, 128>>>", "add<<<64, 128>>> #2 x2",
                                                          "add<<<64, 128>>> #2 x2", "mul<<<64, 128>>>"}));
}

TEST(PythonRecordingTest, OneKernelLaunchedTwiceIsAPartToo) {
  const Recording recording = RecordingOf(Program().Class("half", 200, 8));
  EXPECT_EQ(PartsOf(recording), (std::vector<std::string>{"half<<<64, 128>>> x2", "half<<<64, 128>>> x2"}));
  EXPECT_EQ(recording.ranges.back().metrics.at("smsp__inst_executed.sum"), 2000.0);
}

TEST(PythonRecordingTest, AKernelTooShortForARowOfTheRangeIsCountedByItsLaunches) {
  const Recording recording = RecordingOf(Program().Class("long", 100, 4).Class("tiny", 199, 0).Class("once", 1, 0));
  EXPECT_EQ(PartsOf(recording),
            (std::vector<std::string>{"long<<<64, 128>>>", "tiny<<<64, 128>>> x2", "tiny<<<64, 128>>> x2"}));
  EXPECT_TRUE(recording.losses.empty());
}

TEST(PythonRecordingTest, ACallThatDoesNotAlwaysLaunchTheSameIsALoss) {
  for (const std::int64_t counted : {0, 5}) {
    const Recording recording = RecordingOf(Program().Class("sometimes", 60, counted));
    EXPECT_EQ(PartsOf(recording).size(), 1U);
    ASSERT_EQ(recording.losses.size(), 1U);
    EXPECT_EQ(recording.losses[0].kind, "launches_estimated");
  }
}

TEST(PythonRecordingTest, ACallWithoutAKernelIsALoss) {
  const Recording recording = RecordingOf(Program());
  ASSERT_EQ(recording.losses.size(), 1U);
  EXPECT_EQ(recording.losses[0].kind, "launch_not_seen");
}

TEST(PythonRecordingTest, CudaGraphsAreNoKernels) {
  Program program;
  program.Class("kernel", 100, 4);
  MeasuredCase measured = Measured("f", program);
  measured.program->cases.push_back({99, std::string(kGraphCase) + "1", "program", std::nullopt});
  EXPECT_EQ(ToKernelRecording(Base(), kOrigin, {measured}).launches.size(), 1U);
}

TEST(PythonRecordingTest, WithoutTheCountersOfAKernelACallHasNoSums) {
  MeasuredCase measured = Measured("f", Program().Class("a", 100, 4).Class("b", 100, 4));
  measured.program->ranges.pop_back();
  const Recording recording = ToKernelRecording(Base(), kOrigin, {measured});
  EXPECT_EQ(recording.ranges.size(), 1U);
  ASSERT_EQ(recording.losses.size(), 1U);
  EXPECT_EQ(recording.losses[0].kind, "counters_not_measured");
  EXPECT_TRUE(Contains(recording.losses[0].reason, "b<<<64, 128>>>"));
}

TEST(PythonRecordingTest, CasesShareCodeAndConfigurations) {
  const Program program = Program().Class("softmax_kernel", 100, 4).Code(1, 7, "_Z1s");
  const Recording recording =
      ToKernelRecording(Base(), kOrigin, {Measured("f@n=1", program), Measured("f@n=2", program)});
  EXPECT_EQ(recording.cases.size(), 2U);
  EXPECT_EQ(recording.functions.size(), 1U);
  EXPECT_EQ(recording.cubins.size(), 1U);
  EXPECT_EQ(recording.configs.size(), 1U);
  ASSERT_EQ(recording.samplings.size(), 2U);
  EXPECT_EQ(recording.samplings[0].samples[0].function_id, recording.samplings[1].samples[0].function_id);
}

TEST(PythonRecordingTest, ClocksAreThoseBeforeTheFirstAndAfterTheLastProcessAndThrottlingOfAnyCounts) {
  MeasuredCase first = Measured("f@n=1", Program().Class("k", 100, 4));
  first.program->clocks[1].throttle_reasons = 0x40;
  MeasuredCase second = Measured("f@n=2", Program().Class("k", 100, 4));
  second.program->clocks[0].sm_hz = 1;
  second.program->clocks[1].sm_hz = 1500000000;
  const Recording recording = ToKernelRecording(Base(), kOrigin, {first, second});
  ASSERT_EQ(recording.clocks.size(), 2U);
  EXPECT_EQ(recording.clocks[0].sm_hz, 1980000000);
  EXPECT_EQ(recording.clocks[1].sm_hz, 1500000000);
  EXPECT_EQ(recording.clocks[1].throttle_reasons, 0x40U);
}

TEST(PythonRecordingTest, LossesNameTheirCaseAndThoseOfWatchingAreLeftOut) {
  const Program program = Program()
                              .Class("k", 100, 4)
                              .Loss({"launch_not_watched", "launches whose counters were measured", "", 34})
                              .Loss({"metric_unavailable", "a.sum", "no such metric", 1})
                              .Loss({"counters_ended", "", "it failed", 1});
  const Recording recording =
      ToKernelRecording(Base(), kOrigin, {Measured("f@n=1", program), Measured("f@n=2", program)});
  std::vector<std::string> losses;
  for (const DataLoss& loss : recording.losses) losses.push_back(loss.kind + " " + loss.subject);
  EXPECT_EQ(losses,
            (std::vector<std::string>{"metric_unavailable a.sum", "counters_ended f@n=1", "counters_ended f@n=2"}));
}

TEST(PythonRecordingTest, ACaseThatWasNotMeasuredHasItsVerification) {
  Verification wrong = sample::Correct(0);
  wrong.draws_passed = 0;
  const Recording recording = ToKernelRecording(Base(), kOrigin, {{"f", wrong, {}, {}, {}, {}}});
  EXPECT_EQ(recording.cases.size(), 1U);
  EXPECT_EQ(recording.verifications.at(0).case_id, recording.cases[0].id);
}

// The rest of the program takes it for a recording of kernels.
TEST(PythonRecordingTest, ItIsStoredAnalyzedAndJudgedAsKernels) {
  const Program one = Program().Class("softmax_kernel", 100, 4).Code(1, 7, "_Z1s");
  const Program two = Program().Class("scale", 100, 4).Class("reduce", 200, 8).Code(1, 7, "_Z1s").Code(2, 8, "_Z1b");
  const Recording recording = ToKernelRecording(Base(), kOrigin, {Measured("f@n=1", one), Measured("f@n=2", two)});
  const TestFolder folder;
  const std::string path = folder / "python.fap";
  store::RecordingWriter writer(path);
  store::WriteRecording(recording, nullptr, writer);
  writer.Finish();

  const Recording read = store::RecordingReader(path).Load();
  const Profile profile = analyze::Analyze(read);
  EXPECT_FALSE(profile.program);
  ASSERT_EQ(profile.entries.size(), 4U);
  EXPECT_EQ(profile.entries[0].kernel, "f@n=1");
  EXPECT_TRUE(profile.entries[0].has_counters);
  EXPECT_TRUE(profile.entries[0].phases);
  EXPECT_EQ(profile.entries[1].part, "");
  EXPECT_TRUE(profile.entries[1].has_counters);
  EXPECT_EQ(profile.entries[3].part, "reduce<<<64, 128>>> x2");

  const gate::Evidence evidence = gate::EvidenceOf(read, profile, path, "");
  ASSERT_EQ(evidence.cases.size(), 2U);
  EXPECT_EQ(evidence.cases[0].kernel, "f@n=1");
  EXPECT_EQ(evidence.cases[0].shape, "");
  EXPECT_TRUE(evidence.cases[0].verification->correct());
  EXPECT_EQ(evidence.cases[1].launches.size(), 3U);
  EXPECT_DOUBLE_EQ(evidence.processes[0].values[0].at({"", gate::kDuration}), 600e-9);
}

}  // namespace
}  // namespace fa_profile::python::python_recording_test
