// When a case is sampled again, with which period, and when sampling disturbs, on a GPU that is faked.
#include "fa_profile/phase_collector.h"

#include <gtest/gtest.h>

#include "fake_gpu.h"
#include "recording_builder.h"

namespace fa_profile::collect::phase_collector_test {
namespace {

PcSamples Samples(std::uint64_t dropped = 0, bool buffer_full = false) {
  PcSamples samples;
  samples.pcs = {{7, "kernel", 16, {{"selected", 3}}}};
  samples.total = 3 + dropped;
  samples.dropped = dropped;
  samples.buffer_full = buffer_full;
  return samples;
}

class PhaseCollectorTest : public testing::Test {
 protected:
  PhaseCollectorTest() {
    device_.chip = "GH100";
    device_.sm_clock_max_hz = 1'980'000'000;
    device_.sm_count = 132;
    gpu_.samples = {Samples()};
    gpu_.counts = {{7, "kernel", 16, {{"smsp__sass_inst_executed", 5}}}, {7, "kernel", 32, {{"unused", 0}}}};
    gpu_.modules[7] = {1, 2, 3};
  }
  void Collect(bool sample = true) {
    PhaseCollector collector(run_, disassembler_);
    collector.Collect({{1, &one_}}, sample);
  }
  const PcSampling& Sampling() const { return built_.recording.samplings.at(0); }
  int PeriodFor(double call_ns) {
    gpu_.call_ns = {call_ns};
    built_ = {};
    Collect();
    return Sampling().period_cycles;
  }
  // Without SASS metrics; the fake chip has one of them.
  std::vector<DataLoss> Losses() const {
    std::vector<DataLoss> losses = built_.recording.losses;
    std::erase_if(losses, [](const DataLoss& loss) { return loss.kind == "metric_unavailable"; });
    return losses;
  }
  std::vector<std::string> LossKinds() const {
    std::vector<std::string> kinds;
    for (const DataLoss& loss : Losses()) kinds.push_back(loss.kind);
    return kinds;
  }

  using Kinds = std::vector<std::string>;
  Device device_;
  FakeGpu gpu_;
  RecordingBuilder built_;
  CollectRun run_{device_, gpu_, built_, 100};
  Disassembler disassembler_;
  FakeWorkload one_{gpu_, "one"};
};

TEST_F(PhaseCollectorTest, ThePeriodGivesAbout400ThousandSamples) {
  // 10 replays of at least 0.2 ms: 2 ms * 1.98 GHz * 132 SMs / 400,000 = 1306 cycles.
  EXPECT_EQ(PeriodFor(1e3), 1024);
  EXPECT_EQ(PeriodFor(200e3), 1024);
  EXPECT_EQ(PeriodFor(1e6), 4096);    // the power of two below 6534
  EXPECT_EQ(PeriodFor(10e6), 32768);  // the power of two below 65340
}

TEST_F(PhaseCollectorTest, ThePeriodStaysBetweenWhatTheHardwareTakes) {
  device_.sm_count = 1;
  EXPECT_EQ(PeriodFor(1e3), 256);
  device_.sm_count = 132;
  EXPECT_EQ(PeriodFor(100e9), 1 << 20);
}

TEST_F(PhaseCollectorTest, HalfThePeriodWillDoAndAnotherIsSet) {
  PhaseCollector collector(run_, disassembler_);
  gpu_.call_ns = {1e3, 1e3, 400e3, 400e3, 1e6, 1e6};  // each without and under the sampler; 1024, 2048, 4096 cycles
  collector.Collect({{1, &one_}, {2, &one_}, {3, &one_}});
  EXPECT_EQ(built_.recording.samplings.at(1).period_cycles, 1024);
  EXPECT_EQ(built_.recording.samplings.at(2).period_cycles, 4096);
}

TEST_F(PhaseCollectorTest, ACleanSampleIsTakenOnce) {
  Collect();
  EXPECT_EQ(gpu_.Count("period:1024"), 1);
  EXPECT_EQ(gpu_.Count("time"), 2);  // without, and under the sampler
  EXPECT_EQ(Sampling().launches, 7);
  EXPECT_EQ(Sampling().call_ns, 1000.0);
  EXPECT_EQ(Sampling().total_samples, 3U);
  EXPECT_EQ(LossKinds(), Kinds{});
}

TEST_F(PhaseCollectorTest, DroppedSamplesAreTakenAgainWithFourTimesThePeriod) {
  gpu_.samples = {Samples(10), Samples(4), Samples()};
  Collect();
  EXPECT_EQ(gpu_.Count("period:1024"), 1);
  EXPECT_EQ(gpu_.Count("period:4096"), 1);
  EXPECT_EQ(gpu_.Count("period:16384"), 1);
  EXPECT_EQ(Sampling().period_cycles, 16384);
  EXPECT_EQ(Sampling().dropped_samples, 0U);
  EXPECT_EQ(built_.recording.samplings.size(), 1U);
  EXPECT_EQ(LossKinds(), Kinds{});
}

TEST_F(PhaseCollectorTest, AFullBufferIsTakenAgainToo) {
  gpu_.samples = {Samples(0, true), Samples()};
  Collect();
  EXPECT_EQ(Sampling().period_cycles, 4096);
  EXPECT_EQ(LossKinds(), Kinds{});
}

TEST_F(PhaseCollectorTest, ASamplerThatGivesNothingIsReplacedByOneOfTheSamePeriod) {
  PcSamples nothing;
  nothing.total = 5;
  gpu_.samples = {nothing, Samples()};
  Collect();
  EXPECT_EQ(gpu_.Count("close:sampler:256"), 1);
  EXPECT_EQ(gpu_.Count("open:sampler:1024"), 1);
  EXPECT_EQ(Sampling().period_cycles, 1024);
  EXPECT_EQ(LossKinds(), Kinds{});
}

TEST_F(PhaseCollectorTest, TheFourthAttemptIsKeptWithItsLosses) {
  gpu_.samples = {Samples(40), Samples(30), Samples(20), Samples(10, true)};
  Collect();
  EXPECT_EQ(gpu_.Count("time"), 5);
  EXPECT_EQ(Sampling().period_cycles, 65536);
  EXPECT_EQ(Sampling().dropped_samples, 10U);
  EXPECT_EQ(LossKinds(), (Kinds{"samples_dropped", "samples_dropped"}));
  EXPECT_EQ(Losses()[0].count, 10);
}

TEST_F(PhaseCollectorTest, ASamplerIsClosedBeforeTheNextIsOpened) {
  gpu_.samples = {PcSamples{}, Samples()};
  Collect();
  int open = 0;
  for (const std::string& call : gpu_.calls) {
    if (call.starts_with("open:sampler")) ++open;
    if (call.starts_with("close:sampler")) --open;
    EXPECT_LE(open, 1);
  }
  EXPECT_EQ(open, 0);
}

TEST_F(PhaseCollectorTest, TwoPercentMoreTimeUnderTheSamplerIsNotADisturbance) {
  gpu_.call_ns = {1000.0, 1019.9};
  Collect();
  EXPECT_EQ(gpu_.Count("time"), 2);
  EXPECT_EQ(LossKinds(), Kinds{});
}

TEST_F(PhaseCollectorTest, ACallThatIsAsSlowAfterwardsIsNotDisturbed) {
  gpu_.call_ns = {1000.0, 1100.0, 1090.0};  // before, under the sampler, after
  Collect();
  EXPECT_EQ(gpu_.Count("time"), 3);
  EXPECT_EQ(LossKinds(), Kinds{});
}

TEST_F(PhaseCollectorTest, ACallThatIsSlowUnderTheSamplerAloneIsDisturbed) {
  gpu_.call_ns = {1000.0, 1100.0, 990.0};
  Collect();
  EXPECT_EQ(LossKinds(), Kinds{"sampling_disturbs"});
  ASSERT_EQ(Losses().size(), 1U);
  EXPECT_EQ(Losses()[0].reason, "a call took 1.10 us under PC sampling and 1.00 us without it just before and after");
  EXPECT_EQ(Sampling().call_ns, 1100.0);  // it is kept, and there is a loss
}

TEST_F(PhaseCollectorTest, TheCallIsTimedAfterwardsWithoutASampler) {
  gpu_.call_ns = {1000.0, 1100.0, 1090.0};
  Collect();
  const auto last_time = std::find(gpu_.calls.rbegin(), gpu_.calls.rend(), "time");
  const auto last_close = std::find(gpu_.calls.rbegin(), gpu_.calls.rend(), "close:sampler:256");
  EXPECT_LT(last_time - gpu_.calls.rbegin(), last_close - gpu_.calls.rbegin());
}

TEST_F(PhaseCollectorTest, SamplesWithoutAPlaceAndOfOtherCodeAreLosses) {
  PcSamples samples;
  samples.other = 12;
  gpu_.samples = {samples};
  gpu_.counts.clear();
  gpu_.counts_dropped = 3;
  Collect();
  EXPECT_EQ(LossKinds(), (Kinds{"samples_missing", "samples_unnamed", "counts_dropped", "counts_missing"}));
  EXPECT_EQ(Losses()[1].count, 12);
}

TEST_F(PhaseCollectorTest, TheSamplerOpensBeforeAnyKernelAndIsClosedBeforeCounting) {
  {
    PhaseCollector collector(run_, disassembler_);
    EXPECT_EQ(gpu_.TakeCalls(), "open:modules open:sampler:256");
    collector.Collect({{1, &one_}});
    const std::string calls = gpu_.TakeCalls();
    EXPECT_LT(calls.find("close:sampler:256"), calls.find("open:counter")) << calls;
    EXPECT_NE(calls.find("one synchronize start one synchronize take stop"), std::string::npos) << calls;
  }
  EXPECT_EQ(gpu_.open, 0);
}

TEST_F(PhaseCollectorTest, WhatWasMeasuredIsWrittenAfterOthersHaveProfiled) {
  PhaseCollector collector(run_, disassembler_);
  collector.Measure({{1, &one_}});
  EXPECT_TRUE(built_.recording.samplings.empty());
  collector.Close();
  EXPECT_EQ(gpu_.open, 0);
  collector.Write();
  EXPECT_EQ(built_.recording.cubins.size(), 1U);
  EXPECT_EQ(built_.recording.functions.size(), 1U);
  EXPECT_EQ(built_.recording.samplings.size(), 1U);
  EXPECT_EQ(built_.recording.countings.size(), 1U);
  collector.Write();
  EXPECT_EQ(built_.recording.samplings.size(), 1U);
}

TEST_F(PhaseCollectorTest, CountsOnlyOpensNoFurtherSampler) {
  Collect(/*sample=*/false);
  EXPECT_EQ(gpu_.Count("time"), 0);
  EXPECT_TRUE(built_.recording.samplings.empty());
  EXPECT_EQ(built_.recording.countings.size(), 1U);
}

TEST_F(PhaseCollectorTest, InstructionsThatNeverRanAreNotCounted) {
  Collect();
  const std::vector<SassCount>& counts = built_.recording.countings.at(0).counts;
  ASSERT_EQ(counts.size(), 1U);
  EXPECT_EQ(counts[0].offset, 16U);
  EXPECT_EQ(counts[0].function_id, Sampling().samples.at(0).function_id);
}

TEST_F(PhaseCollectorTest, OneCounterServesAllJobsBecauseCuptiTakesOneConfiguration) {
  PhaseCollector collector(run_, disassembler_);
  collector.Collect({{1, &one_}});
  collector.Collect({{2, &one_}}, /*sample=*/false);
  long counters = 0;
  for (const std::string& call : gpu_.calls) counters += call.starts_with("open:counter") ? 1 : 0;
  EXPECT_EQ(counters, 1);
  EXPECT_EQ(built_.recording.cubins.size(), 1U);     // the first one's
  EXPECT_EQ(built_.recording.functions.size(), 1U);  // not again
  EXPECT_EQ(built_.recording.countings.size(), 2U);
}

TEST_F(PhaseCollectorTest, MetricsThatTheChipLacksAreLossesAndTheOthersAreCounted) {
  gpu_.sass_metrics = {"smsp__sass_inst_executed", "smsp__sass_thread_inst_executed"};
  Collect();
  EXPECT_EQ(gpu_.Count("open:counter: smsp__sass_inst_executed smsp__sass_thread_inst_executed"), 1);
  EXPECT_EQ(built_.recording.losses.size(), 7U);
  EXPECT_EQ(built_.recording.losses[0].reason, "CUPTI has no such SASS metric on GH100");
}

TEST_F(PhaseCollectorTest, AKernelThatFailsUnderTheSamplerLeavesItStoppedAndClosed) {
  run_.cancelled = [this] { return gpu_.running > 0; };  // at the first sample under the sampler
  EXPECT_THROW(Collect(), Error);
  EXPECT_EQ(gpu_.running, 0);
  EXPECT_EQ(gpu_.open, 0);
  EXPECT_TRUE(built_.recording.samplings.empty());
}

TEST_F(PhaseCollectorTest, AKernelThatFailsUnderTheCounterLeavesItStoppedAndClosed) {
  gpu_.failing_call = "take";
  EXPECT_THROW(Collect(), Error);
  EXPECT_EQ(gpu_.running, 0);
  EXPECT_EQ(gpu_.open, 0);
}

TEST_F(PhaseCollectorTest, TheErrorOfTheKernelIsReportedNotThatOfStopping) {
  gpu_.failing_call = "stop";
  run_.cancelled = [this] { return gpu_.running > 0; };
  try {
    Collect();
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("interrupted"), std::string::npos);
  }
}

TEST_F(PhaseCollectorTest, AnInstrumentThatCannotBeStoppedIsAnError) {
  gpu_.failing_call = "stop";
  try {
    Collect();
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("stop failed"), std::string::npos);
  }
  EXPECT_EQ(gpu_.open, 0);
}

TEST_F(PhaseCollectorTest, CodeIsDisassembledAndWritten) {
  disassembler_ = [](const Cubin& cubin, const std::vector<std::string>& functions) {
    DeviceFunction function;
    function.name = functions.at(0);
    function.instructions.resize(cubin.bytes.size());
    return std::vector<DeviceFunction>{function};
  };
  Collect();
  ASSERT_EQ(built_.recording.functions.size(), 1U);
  EXPECT_EQ(built_.recording.functions[0].cubin_crc, 7U);
  EXPECT_EQ(built_.recording.functions[0].instructions.size(), 3U);
  EXPECT_EQ(built_.recording.functions[0].id, Sampling().samples.at(0).function_id);
}

TEST_F(PhaseCollectorTest, CodeThatCannotBeDisassembledOrWasNotSeenIsALoss) {
  disassembler_ = [](const Cubin&, const std::vector<std::string>&) -> std::vector<DeviceFunction> {
    throw Error("nvdisasm failed", "update it");
  };
  gpu_.counts = {{8, "unseen", 0, {{"smsp__sass_inst_executed", 1}}}};
  Collect();
  EXPECT_EQ(LossKinds(), (Kinds{"not_disassembled", "cubin_unknown"}));
  EXPECT_EQ(built_.recording.functions.size(), 2U);
}

}  // namespace
}  // namespace fa_profile::collect::phase_collector_test
