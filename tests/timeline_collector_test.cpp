// Which calls are sampled over time, how often, and what is kept, on a GPU that is faked.
#include "fa_profile/timeline_collector.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "fa_profile/timeline_metrics.h"
#include "fake_gpu.h"
#include "recording_builder.h"

namespace fa_profile::collect::timeline_collector_test {
namespace {

const std::string kTensor(FindTimelineMetric("tensor")->cupti);

/// Readings of 10 us with these values of the tensor pipe.
PmReadings Tensor(const std::vector<double>& values) {
  PmReadings taken;
  std::int64_t at = 5'000'000;
  for (const double value : values) {
    taken.readings.push_back({at, at + 10'000, {{kTensor, value}}});
    at += 10'000;
  }
  return taken;
}

class TimelineCollectorTest : public testing::Test {
 protected:
  TimelineCollectorTest() { gpu_.call_ns = {1e6}; }
  void Collect() { TimelineCollector(run_).Collect({{1, &one_}}); }
  std::vector<std::string> LossKinds() const {
    std::vector<std::string> kinds;
    for (const DataLoss& loss : built_.recording.losses) kinds.push_back(loss.kind);
    return kinds;
  }

  using Kinds = std::vector<std::string>;
  Device device_;
  FakeGpu gpu_;
  RecordingBuilder built_;
  CollectRun run_{device_, gpu_, built_, 100};
  FakeWorkload one_{gpu_, "one"};
};

TEST_F(TimelineCollectorTest, EachGroupIsSampledInALaunchOfTheCall) {
  gpu_.pm_readings = {Tensor({50})};
  Collect();
  std::set<std::string_view> groups;
  for (const TimelineMetric& metric : TimelineMetrics()) groups.insert(metric.group);
  EXPECT_EQ(groups.size(), 4U);
  for (const std::string_view group : groups) {
    EXPECT_EQ(gpu_.Count("open:pm:" + std::string(group) + ":10000"), 1) << group;
  }
  EXPECT_EQ(gpu_.open, 0);
  EXPECT_EQ(gpu_.running, 0);
  EXPECT_EQ(built_.commits, 1);
  const std::string calls = gpu_.TakeCalls();
  EXPECT_NE(calls.find("start one synchronize stop close:pm:TPC:10000"), std::string::npos) << calls;
}

TEST_F(TimelineCollectorTest, TimesCountFromTheFirstActivityToTheEndOfTheLast) {
  gpu_.pm_readings = {Tensor({0, 0, 80, 0, 40, 0, 0, 0}), Tensor({})};
  Collect();
  std::vector<std::pair<std::int64_t, double>> samples;
  for (const PmSample& sample : built_.recording.pm_samples) {
    EXPECT_EQ(sample.metric, "tensor");
    EXPECT_EQ(sample.case_id, 1);
    EXPECT_EQ(sample.duration_ns, 10'000);
    samples.emplace_back(sample.start_ns, sample.value);
  }
  EXPECT_EQ(samples, (std::vector<std::pair<std::int64_t, double>>{{0, 80}, {10'000, 0}, {20'000, 40}, {30'000, 0}}));
  EXPECT_EQ(LossKinds(), (Kinds{"timeline_missing", "timeline_missing", "timeline_missing"}));
}

TEST_F(TimelineCollectorTest, WhatAnIdleGpuDoesIsNotActivity) {
  gpu_.pm_readings = {Tensor({0.3, 0.3, 80, 0.3, 0.4, 0.3})};
  PmReading& since_it_was_opened = gpu_.pm_readings[0].readings[0];
  since_it_was_opened.start_ns -= 250'000'000;
  since_it_was_opened.metrics[kTensor] = 5;
  Collect();
  std::vector<double> values;
  for (const PmSample& sample : built_.recording.pm_samples) values.push_back(sample.value);
  EXPECT_EQ(values, (std::vector<double>{80, 0.3}));
}

TEST_F(TimelineCollectorTest, LongCallsAreSampledLessOften) {
  gpu_.call_ns = {50e6};
  gpu_.pm_readings = {Tensor({1})};
  Collect();
  EXPECT_EQ(gpu_.Count("open:pm:TPC:50000"), 1);
}

TEST_F(TimelineCollectorTest, ACallOfAFewSamplesIsNotSampled) {
  gpu_.call_ns = {99e3};
  Collect();
  EXPECT_EQ(LossKinds(), Kinds{"timeline_too_short"});
  EXPECT_TRUE(built_.recording.pm_samples.empty());
}

TEST_F(TimelineCollectorTest, AGroupThatTheChipLacksIsALossAndTheOthersAreSampled) {
  gpu_.failing_call = "open:pm:SM_A:10000";
  gpu_.pm_readings = {Tensor({50})};
  Collect();
  EXPECT_EQ(LossKinds(), Kinds{"timeline_unavailable"});
  EXPECT_EQ(gpu_.Count("open:pm:FBSP:10000"), 1);
}

TEST_F(TimelineCollectorTest, AFullBufferIsALoss) {
  gpu_.pm_readings = {Tensor({50})};
  gpu_.pm_readings[0].buffer_full = true;
  Collect();
  EXPECT_EQ(LossKinds(), (Kinds{"timeline_cut", "timeline_cut", "timeline_cut", "timeline_cut"}));
  EXPECT_EQ(built_.recording.pm_samples.size(), 1U);
}

}  // namespace
}  // namespace fa_profile::collect::timeline_collector_test
