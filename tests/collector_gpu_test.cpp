// The collector on a real GPU, with the ladder's kernels as workloads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <set>
#include <string>

#include "fa_profile/collector.h"
#include "fa_profile/counter_session.h"
#include "fa_profile/cupti_api.h"
#include "fa_profile/device.h"
#include "fa_profile/error.h"
#include "fa_profile/kernels.h"
#include "fa_profile/metric_host.h"
#include "fa_profile/metric_sets.h"
#include "fa_profile/timeline_collector.h"
#include "fa_profile/timeline_metrics.h"
#include "recording_builder.h"

namespace fa_profile {
namespace {

const std::vector<std::string> kFewMetrics = {"smsp__inst_executed.sum", "sm__cycles_active.avg",
                                              "smsp__thread_inst_executed.sum", "gpu__time_duration.sum"};

// Works of several rungs at the mission shape; "cublas" has three parts.
class Ladders {
 public:
  explicit Ladders(const std::set<std::string>& ids, AttentionShape shape = {}) {
    for (const Kernel* const kernel : Ladder()) {
      if (ids.count(kernel->id()) == 0) continue;
      works_.push_back(kernel->MakeWorkload(shape, 1));
      jobs_.push_back({static_cast<std::int64_t>(jobs_.size()) + 1, works_.back().get()});
    }
  }
  const std::vector<collect::CollectJob>& jobs() const { return jobs_; }

 private:
  std::vector<std::unique_ptr<Workload>> works_;
  std::vector<collect::CollectJob> jobs_;
};

collect::CollectOptions FewOptions() {
  collect::CollectOptions options;
  options.metrics = kFewMetrics;
  options.timed_launches = 0;
  return options;
}

class CollectorGpuTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (collect::DeviceCount() == 0) return;
    collect::PrepareProcessForNvtx();
    device_ = std::make_unique<Device>(collect::OpenDevice(0));
  }
  void SetUp() override {
    if (collect::DeviceCount() == 0) GTEST_SKIP() << "no GPU here: " << collect::WhyNoDevice();
  }
  static void CollectInto(RecordingSink& sink, const std::vector<collect::CollectJob>& jobs,
                          const collect::CollectOptions& options, bool flush_cache = false,
                          std::function<bool()> cancelled = {}) {
    const std::unique_ptr<collect::GpuApi> gpu = collect::OpenGpuApi(*device_, flush_cache, "");
    collect::CollectRun run{*device_, *gpu, sink, 100, {}, std::move(cancelled)};
    collect::Collector(run, options).Collect(jobs);
  }
  static RecordingBuilder Collect(const std::set<std::string>& ids, const collect::CollectOptions& options,
                                  bool flush_cache = false) {
    const Ladders ladders(ids);
    RecordingBuilder builder;
    CollectInto(builder, ladders.jobs(), options, flush_cache);
    return builder;
  }
  static inline std::unique_ptr<Device> device_;
};

TEST_F(CollectorGpuTest, UserRangesCoverTheCallAndItsParts) {
  const RecordingBuilder built = Collect({"cublas", "mma"}, FewOptions());
  std::vector<std::string> names;
  for (const Range& range : built.recording.ranges) names.push_back(range.name);
  EXPECT_EQ(names, (std::vector<std::string>{"cublas@1,8,512,64", "cublas@1,8,512,64/qk", "cublas@1,8,512,64/softmax",
                                             "cublas@1,8,512,64/pv", "mma@1,8,512,64"}));
  for (const Range& range : built.recording.ranges) {
    EXPECT_EQ(range.metrics.size(), kFewMetrics.size()) << range.name;
    EXPECT_GT(range.metrics.at("smsp__inst_executed.sum"), 0.0) << range.name;
  }
  EXPECT_TRUE(built.recording.losses.empty());
}

// cuBLAS kernels spin while they wait, so their counts differ by a few hundred between launches.
TEST_F(CollectorGpuTest, TheWholeCallExecutesWhatItsPartsExecute) {
  const RecordingBuilder built = Collect({"cublas"}, FewOptions());
  const std::vector<Range>& ranges = built.recording.ranges;
  ASSERT_EQ(ranges.size(), 4U);
  const auto instructions = [&](std::size_t i) { return ranges[i].metrics.at("smsp__inst_executed.sum"); };
  EXPECT_NEAR(instructions(0) / (instructions(1) + instructions(2) + instructions(3)), 1.0, 1e-3);
}

TEST_F(CollectorGpuTest, InstructionCountsAreTheSameInEveryRunAndReplayMode) {
  collect::CollectOptions options = FewOptions();
  const RecordingBuilder first = Collect({"tiled", "mma"}, options);
  const RecordingBuilder flushed = Collect({"tiled", "mma"}, options, /*flush_cache=*/true);
  options.kernel_replay = true;
  const RecordingBuilder replayed = Collect({"tiled", "mma"}, options);
  for (std::size_t i = 0; i < 2; ++i) {
    for (const char* const metric : {"smsp__inst_executed.sum", "smsp__thread_inst_executed.sum"}) {
      EXPECT_EQ(first.recording.ranges.at(i).metrics.at(metric), flushed.recording.ranges.at(i).metrics.at(metric));
      EXPECT_EQ(first.recording.ranges.at(i).metrics.at(metric), replayed.recording.ranges.at(i).metrics.at(metric));
    }
  }
}

TEST_F(CollectorGpuTest, BatchingDoesNotChangeTheCounts) {
  collect::CollectOptions options = FewOptions();
  const RecordingBuilder together = Collect({"minimal", "scalar", "tiled", "wmma", "mma"}, options);
  options.ranges_per_batch = 2;
  const RecordingBuilder apart = Collect({"minimal", "scalar", "tiled", "wmma", "mma"}, options);
  ASSERT_EQ(together.recording.ranges.size(), apart.recording.ranges.size());
  for (std::size_t i = 0; i < apart.recording.ranges.size(); ++i) {
    EXPECT_EQ(together.recording.ranges[i].name, apart.recording.ranges[i].name);
    EXPECT_EQ(together.recording.ranges[i].metrics.at("smsp__inst_executed.sum"),
              apart.recording.ranges[i].metrics.at("smsp__inst_executed.sum"));
  }
  EXPECT_EQ(apart.images.size(), 3U);
}

TEST_F(CollectorGpuTest, SetPhasesTakesOnePass) {
  collect::CollectOptions options = FewOptions();
  options.metrics = BuiltinMetricSet("phases", device_->chip).metrics;
  const RecordingBuilder built = Collect({"mma"}, options);
  ASSERT_EQ(built.recording.configs.size(), 1U);
  EXPECT_EQ(built.recording.configs[0].passes, 1);
  EXPECT_EQ(built.recording.configs[0].metrics.size(), options.metrics.size());
}

TEST_F(CollectorGpuTest, ALongCallIsSampledOverItsTime) {
  const Ladders ladders({"wmma"}, {2, 16, 4096, 64, false});
  RecordingBuilder builder;
  const std::unique_ptr<collect::GpuApi> gpu = collect::OpenGpuApi(*device_, false, "");
  collect::CollectRun run{*device_, *gpu, builder, 100, {}, {}};
  const auto launch = [&](StreamHandle stream) { ladders.jobs().at(0).workload->Launch(stream); };
  const double call_ns = gpu->Time(
                                launch, 3, [] {}, false)
                             .durations_ns.at(0);
  collect::TimelineCollector(run).Collect(ladders.jobs());
  for (const DataLoss& loss : builder.recording.losses) ADD_FAILURE() << loss.kind << ": " << loss.reason;
  for (const TimelineMetric& metric : TimelineMetrics()) {
    double largest = 0.0;
    std::int64_t end_ns = 0;
    std::size_t count = 0;
    for (const PmSample& sample : builder.recording.pm_samples) {
      if (sample.metric != metric.id) continue;
      ++count;
      largest = std::max(largest, sample.value);
      end_ns = std::max(end_ns, sample.start_ns);
    }
    std::printf("%s: %zu samples, largest %.1f %%, last at %.1f us of %.1f\n", std::string(metric.id).c_str(), count,
                largest, static_cast<double>(end_ns) * 1e-3, call_ns * 1e-3);
    EXPECT_GT(count, 10U) << metric.id;
    EXPECT_LE(largest, 101.0) << metric.id;
    EXPECT_GT(largest, metric.group == "FBSP" ? 0.0 : 5.0) << metric.id;
    EXPECT_NEAR(static_cast<double>(end_ns), call_ns, 0.1 * call_ns + 30e3) << metric.id;
  }
}

TEST_F(CollectorGpuTest, LaunchesCarryTheirStatisticsAndParts) {
  const RecordingBuilder built = Collect({"cublas", "mma"}, FewOptions());
  std::vector<std::string> parts;
  for (const Launch& launch : built.recording.launches) {
    EXPECT_GT(launch.registers_per_thread, 0) << launch.kernel_name;
    EXPECT_GT(launch.grid[0] * launch.block[0], 0) << launch.kernel_name;
    EXPECT_GT(launch.end_ns, launch.start_ns) << launch.kernel_name;
    parts.push_back(launch.part);
  }
  EXPECT_EQ(parts, (std::vector<std::string>{"qk", "softmax", "pv", ""}));
}

TEST_F(CollectorGpuTest, NvtxRangesOfOurDomainAreSeenWithTheirNesting) {
  const RecordingBuilder built = Collect({"cublas"}, FewOptions());
  std::set<std::string> inner;
  int outermost = 0;
  for (const NvtxRange& range : built.recording.nvtx_ranges) {
    if (range.domain != "fa_profile") continue;
    if (range.depth == 0) ++outermost;
    if (range.depth == 1) inner.insert(range.name);
    EXPECT_GE(range.end_ns, range.start_ns);
  }
  EXPECT_EQ(outermost, 1);
  EXPECT_EQ(inner.size(), 3U);
}

TEST_F(CollectorGpuTest, DurationsAreTakenAsOftenAsRequested) {
  collect::CollectOptions options;
  options.timed_launches = 100;
  for (const bool flush : {false, true}) {
    const RecordingBuilder built = Collect({"cublas"}, options, flush);
    ASSERT_EQ(built.recording.timings.size(), 4U);
    for (const Timing& timing : built.recording.timings) {
      EXPECT_EQ(timing.durations_ns.size(), 100U);
      EXPECT_GT(*std::min_element(timing.durations_ns.begin(), timing.durations_ns.end()), 500.0);
      EXPECT_EQ(timing.sm_clock_hz.has_value(), !flush);
      if (timing.sm_clock_hz) {
        EXPECT_GT(*timing.sm_clock_hz, 0.2e9);
        EXPECT_LT(*timing.sm_clock_hz, 1.02 * static_cast<double>(device_->sm_clock_max_hz));
      }
    }
    EXPECT_TRUE(built.recording.ranges.empty());
  }
}

TEST_F(CollectorGpuTest, StoredImagesEvaluateToTheRecordedValues) {
  const RecordingBuilder built = Collect({"tiled", "mma"}, FewOptions());
  const collect::MetricEvaluator evaluator(device_->chip);
  for (const Range& range : built.recording.ranges) {
    const CounterImage& image = built.images.at(range.image_id);
    EXPECT_EQ(evaluator.Evaluate(image.bytes, static_cast<std::size_t>(range.image_index), kFewMetrics), range.metrics);
  }
}

TEST_F(CollectorGpuTest, UnknownMetricIsALossAndTheRestIsMeasured) {
  collect::CollectOptions options = FewOptions();
  options.metrics.emplace_back("sm__no_such_counter.sum");
  const RecordingBuilder built = Collect({"mma"}, options);
  ASSERT_EQ(built.recording.losses.size(), 1U);
  EXPECT_EQ(built.recording.losses[0].subject, "sm__no_such_counter.sum");
  EXPECT_EQ(built.recording.ranges.at(0).metrics.size(), kFewMetrics.size());
}

TEST_F(CollectorGpuTest, CancellingEndsTheRunAndKeepsWhatWasCommitted) {
  const Ladders ladders({"tiled", "mma"});
  RecordingBuilder builder;
  collect::CollectOptions options = FewOptions();
  options.ranges_per_batch = 1;
  const auto cancelled = [&] { return !builder.recording.ranges.empty(); };
  EXPECT_THROW(CollectInto(builder, ladders.jobs(), options, false, cancelled), Error);
  EXPECT_EQ(builder.recording.ranges.size(), 1U);
  EXPECT_GT(builder.commits, 0);
}

TEST_F(CollectorGpuTest, AMissingDeviceIsNamed) {
  try {
    (void)collect::OpenDevice(99);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no device 99"), std::string::npos);
  }
}

TEST_F(CollectorGpuTest, DoctorReservesTheCountersOnTheDevice) {
  bool counters = false;
  for (const Diagnosis& diagnosis : collect::DiagnoseDevice(0)) {
    if (diagnosis.subject == "counters") counters = diagnosis.level == Diagnosis::Level::kOk;
  }
  EXPECT_TRUE(counters);
}

// Each variant of rung 3 is correct, and undoes one thing that one counter shows.
TEST_F(CollectorGpuTest, EachVariantOfTheTiledRungMovesItsCounter) {
  std::vector<const Kernel*> kernels = {Ladder().at(2)};
  kernels.insert(kernels.end(), TiledVariants().begin(), TiledVariants().end());
  std::vector<std::unique_ptr<Workload>> works;
  std::vector<collect::CollectJob> jobs;
  for (const Kernel* const kernel : kernels) {
    EXPECT_TRUE(Verify(*kernel, AttentionShape{1, 2, 333, 64}, 3, 1).correct()) << kernel->id();
    works.push_back(kernel->MakeWorkload({}, 1));
    jobs.push_back({static_cast<std::int64_t>(jobs.size()) + 1, works.back().get()});
  }
  collect::CollectOptions options = FewOptions();
  const std::string wavefronts = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum";
  const std::string copies = "smsp__inst_executed_op_ldgsts.sum";
  options.metrics = {wavefronts, copies};
  RecordingBuilder built;
  CollectInto(built, jobs, options);
  ASSERT_EQ(built.recording.ranges.size(), 4U);
  const auto value = [&](std::size_t i, const std::string& metric) {
    return built.recording.ranges[i].metrics.at(metric);
  };
  EXPECT_GT(value(1, wavefronts), 2.0 * value(0, wavefronts)) << "no_pad";
  EXPECT_EQ(value(1, copies), value(0, copies));
  EXPECT_EQ(value(2, copies), 0.0) << "no_async";
  EXPECT_EQ(value(3, copies), 4.0 * value(0, copies)) << "scalar_load";
  EXPECT_LT(value(3, wavefronts), 1.2 * value(0, wavefronts));
}

// Resident memory of this process in bytes, now and at its highest since the last reset.
std::int64_t StatusBytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":")) return std::stoll(line.substr(field.size() + 1)) * 1024;
  }
  return 0;
}

TEST_F(CollectorGpuTest, TheLadderWithSetFullTakesAtMost200MegabytesMore) {
  const Ladders ladders({"minimal", "scalar", "tiled", "cublas", "serial_softmax", "wmma", "mma", "hopper"});
  collect::CollectOptions options = FewOptions();
  options.metrics = BuiltinMetricSet("full", device_->chip).metrics;
  RecordingBuilder builder;  // keeps the image, which a file would not: taken off below
  std::ofstream("/proc/self/clear_refs") << "5";
  const std::int64_t before = StatusBytes("VmRSS");
  CollectInto(builder, ladders.jobs(), options);
  std::int64_t kept = 0;
  for (const auto& [id, image] : builder.images) kept += static_cast<std::int64_t>(image.bytes.size());
  const std::int64_t growth = StatusBytes("VmHWM") - before - kept;
  std::printf("resident before %.0f MB, growth %.0f MB without the %.0f MB image\n", 1e-6 * static_cast<double>(before),
              1e-6 * static_cast<double>(growth), 1e-6 * static_cast<double>(kept));
  EXPECT_EQ(builder.recording.ranges.size(), 11U);
  EXPECT_LE(growth, 200'000'000);
}

// CUPTI 13.0 accepts longer names and ends the process by SIGSEGV when it decodes the counters.
TEST_F(CollectorGpuTest, RangesWithNamesOfEachLengthAreDecoded) {
  const Ladders ladders({"mma"});
  const std::unique_ptr<collect::GpuApi> gpu = collect::OpenGpuApi(*device_, false, "");
  const collect::MetricPlan plan = gpu->Plan(kFewMetrics);
  const std::unique_ptr<collect::RangeProfiler> profiler = gpu->OpenRangeProfiler();
  for (std::size_t length = 1; length <= collect::RangeProfiler::kLongestName; ++length) {
    const std::string name = "varlen_gqa@tokens=1024,batch=4,heads=8,kv_heads=2,head_dim=64,causal=0,more=1,more=2";
    const collect::CounterData data = collect::RunPasses(
        *profiler, plan, {{name.substr(0, length), [] {}, [&] { ladders.jobs()[0].workload->Launch(gpu->stream()); }}});
    const std::vector<collect::RangeValues> values = gpu->Evaluate(plan, data.image, 1);
    ASSERT_EQ(values.size(), 1U);
    EXPECT_EQ(values[0].name, name.substr(0, length));
  }
}

}  // namespace
}  // namespace fa_profile
