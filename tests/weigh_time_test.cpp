// Whether a time is that of the work, from counts alone: no GPU.
#include "weigh_time.h"

#include <gtest/gtest.h>

#include <string>

namespace fa_profile::judge {
namespace {

using testing::Test;

constexpr double kCalls = 1000;

Watched Seen(const DeviceCounts& of_call, double calls) {
  Watched seen;
  for (const DeviceCount& count : AllDeviceCounts()) seen.counts.*count.value = calls * (of_call.*count.value);
  return seen;
}

class WeighTimeTest : public Test {
 protected:
  WeighTimeTest() {
    evidence_.alone.Add(Seen(call_, 3), 3);
    evidence_.call_ns = 20'000;
    evidence_.apart_ns = 21'000;
    evidence_.apart_instructions = call_.instructions;
    evidence_.least_idle_ns = 1e5;
    evidence_.formats = {NumberFormat::kFp16, NumberFormat::kFp16};
    evidence_.tensor_bytes = 25e6;
    evidence_.ceilings = {90, 132, 1.98e9, 3.35e12, 52e6};
  }

  // Bursts of calls like this one.
  std::string WhyNot(const DeviceCounts& timed) {
    evidence_.timed = {};
    evidence_.timed.Add(Seen(timed, kCalls), kCalls);
    return WhyNotTheWork(evidence_);
  }

  DeviceCounts call_ = {2e6, 3e5, 1e6, 0, 8e5, 7e5};
  TimeEvidence evidence_;
};

TEST_F(WeighTimeTest, CallsThatDoTheSameAreTheWork) {
  EXPECT_EQ(WhyNot(call_), "");
  EXPECT_EQ(WhyDisturbed(evidence_), "");
}

TEST_F(WeighTimeTest, FewerInstructionsTensorCyclesOrSectorsOfL2AreNot) {
  DeviceCounts timed = call_;
  timed.instructions *= 0.9;
  EXPECT_NE(WhyNot(timed).find("1.8e+06 instructions, a verified one 2e+06"), std::string::npos);
  timed = call_;
  timed.tensor_cycles *= 0.8;
  EXPECT_NE(WhyNot(timed).find("tensor cores"), std::string::npos);
  timed = call_;
  timed.l2_sectors *= 0.5;
  EXPECT_NE(WhyNot(timed).find("4e+05 sectors between SMs and L2, a verified one 8e+05"), std::string::npos);
}

TEST_F(WeighTimeTest, WhatL2HoldsNeedNotComeFromDram) {
  DeviceCounts timed = call_;
  timed.dram_sectors = 0;
  EXPECT_EQ(WhyNot(timed), "") << "22 MB fit into L2";
  DeviceCounts large = call_;
  large.dram_sectors = 1e7;  // 320 MB
  evidence_.alone = {};
  evidence_.alone.Add(Seen(large, 3), 3);
  EXPECT_NE(WhyNot(timed).find("0 MB from DRAM, a verified one 320 MB, and L2 holds 52 MB"), std::string::npos);
  large.dram_sectors = 8e6;
  EXPECT_EQ(WhyNot(large), "");
}

TEST_F(WeighTimeTest, WhatVariesFromRoundToRoundMayVaryInTheBursts) {
  DeviceCounts more = call_;
  more.instructions *= 1.08;
  evidence_.alone.Add(Seen(more, 3), 3);
  DeviceCounts timed = call_;
  timed.instructions *= 0.92;
  EXPECT_EQ(WhyNot(timed), "");
  timed.instructions = 0.8 * call_.instructions;
  EXPECT_NE(WhyNot(timed), "");
}

TEST_F(WeighTimeTest, ChipsWithoutTheLaterCountersAreWeighedByTheOthers) {
  call_.l2_sectors = call_.dram_sectors = 0;
  evidence_.alone = {};
  evidence_.alone.Add(Seen(call_, 3), 3);
  EXPECT_EQ(WhyNot(call_), "");
}

TEST_F(WeighTimeTest, WorkElsewhereOrLaterIsRefused) {
  ASSERT_EQ(WhyNot(call_), "");
  evidence_.timed.sum.quiet_after = false;
  EXPECT_NE(WhyNotTheWork(evidence_).find("another stream"), std::string::npos);
  evidence_.timed.sum.quiet_after = true;
  evidence_.alone.sum.quiet_before = false;
  EXPECT_NE(WhyNotTheWork(evidence_).find("before a call is asked for"), std::string::npos);
  evidence_.alone.sum.quiet_before = true;
  evidence_.least_idle_ns = 4e6;
  EXPECT_NE(WhyNotTheWork(evidence_).find("4 ms more than the GPU works"), std::string::npos);
  evidence_.least_idle_ns = 1e5;
  evidence_.apart_ns = 60'000;
  EXPECT_NE(WhyNotTheWork(evidence_).find("calls overlap"), std::string::npos);
}

TEST_F(WeighTimeTest, ACallOnNewInputsThatTakesMuchLongerIsRefused) {
  evidence_.first = {{70e3, 400e3}, {62e3, 300e3}, {2e6, 9e6}};
  evidence_.again = {{30e3, 310e3}, {32e3, 290e3}, {5e6, 9e6}};
  EXPECT_EQ(WhyNot(call_), "") << "30 us more: 6 us of 20, 20 us, and 7 us until 25 MB are in L2";
  for (Spent& spent : evidence_.first) spent.busy_ns += 9e3;
  EXPECT_NE(WhyNot(call_).find("a call on new inputs takes 39 us longer than on the same inputs again"),
            std::string::npos);
  evidence_.again[0].busy_ns = 5e6;
  EXPECT_EQ(WhyNot(call_), "") << "a busy GPU";
  for (Spent& spent : evidence_.first) spent.elapsed_ns += 400e3;  // by the CPU
  EXPECT_NE(WhyNot(call_).find("390 us longer"), std::string::npos);
  evidence_.again[0].elapsed_ns = 9e6;
  EXPECT_EQ(WhyNot(call_), "") << "a busy CPU";
}

TEST_F(WeighTimeTest, MuchMoreWorkThanTheCallsIsADisturbance) {
  DeviceCounts timed = call_;
  timed.instructions *= 1.2;
  (void)WhyNot(timed);
  EXPECT_EQ(WhyDisturbed(evidence_), "") << "waiting loops";
  timed.instructions = 1.3 * call_.instructions;
  (void)WhyNot(timed);
  EXPECT_NE(WhyDisturbed(evidence_).find("something else may work on this GPU"), std::string::npos);
  evidence_.timed.sum.complete = false;
  EXPECT_NE(WhyDisturbed(evidence_).find("lost"), std::string::npos);
}

TEST_F(WeighTimeTest, TheConditionsNameTypesPipesAndCache) {
  ASSERT_EQ(WhyNot(call_), "");
  EXPECT_EQ(ConditionsOf(evidence_), "fp16; tensor cores work; 25 MB of tensors a call, warm in L2");
  evidence_.formats = {NumberFormat::kFp64, NumberFormat::kInt32};
  evidence_.tensor_bytes = 100e6;
  DeviceCounts timed = call_;
  timed.tensor_cycles = 0;
  timed.fp64_cycles = 5e5;
  (void)WhyNot(timed);
  EXPECT_EQ(ConditionsOf(evidence_),
            "fp64, int32; no tensor cores, pipes for fp64 work; 100 MB of tensors a call, more than L2 holds");
}

}  // namespace
}  // namespace fa_profile::judge
