// Where warps wait for asynchronous work: which instructions are a wait, how late the work is and what ran meanwhile.
#include "async_work.h"

#include <gtest/gtest.h>

#include "device_code.h"
#include "fa_profile/analyze.h"
#include "fa_profile/inline_stacks.h"
#include "fa_profile/phases.h"
#include "mbarrier_waits.h"

namespace fa_profile::analyze::async_work_test {
namespace {

/// An instruction, how often warps executed it, and its samples.
struct Measured {
  Line line;
  std::uint64_t executed = 10;
  std::uint64_t samples = 0;
  std::string reason = "short_scoreboard";
};

std::vector<AsyncWait> WaitsOf(const std::vector<Measured>& code, double warp_cycles) {
  std::vector<Line> lines;
  for (const Measured& each : code) lines.push_back(each.line);
  const DeviceFunction function = MakeFunction(lines);
  PcSampling sampling;
  SassCounting counting;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const auto offset = static_cast<std::uint32_t>(16 * i);
    if (code[i].samples > 0) {
      sampling.samples.push_back(
          {1, offset, {{code[i].reason, code[i].samples}, {code[i].reason + "_not_issued", 1000}}});
    }
    if (code[i].executed > 0) {
      counting.counts.push_back({1, offset, {{"smsp__sass_inst_executed", code[i].executed}}});
    }
  }
  const LabelledFunction labelled{&function, kUnattributed, PhasesOf(function, AttentionPhases())};
  return AsyncWaitsOf({labelled}, sampling, counting, warp_cycles);
}

const std::vector<std::string> kQk{"ns::qk()", "Kernel(P)"};
const std::vector<std::string> kPv{"ns::pv()", "Kernel(P)"};
const std::vector<std::string> kSoftmax{"ns::softmax()", "Kernel(P)"};
const std::vector<std::string> kSync{"Try(int)", "ns::sync(int)", "Kernel(P)"};

TEST(AsyncWorkTest, AGroupOfProductsIsWaitedForAndRunsBesideOtherWork) {
  // 100 samples stand for 4,000 cycles of all warps: 40 cycles a sample, 4 for each of 10 executions.
  const std::vector<AsyncWait> waits = WaitsOf({{{"", "WARPGROUP.ARRIVE", "", kQk}, 10, 5},
                                                {{"", "HGMMA.64x64x16.F32", "R24, gdesc[UR4], R24", kQk}, 10, 5},
                                                {{"", "HGMMA.64x64x16.F32", "R24, gdesc[UR4], R24, gsb0", kQk}, 10, 5},
                                                {{"", "MUFU.EX2", "R1, R1", kSoftmax}, 10, 40},
                                                {{"", "FADD", "R1, R1, R1", kPv}, 10, 15},
                                                {{"", "WARPGROUP.DEPBAR.LE", "gsb0, 0x0", kQk}, 10, 20},
                                                {{"", "EXIT", "", {}}, 10, 10}},
                                               4000.0);
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].kind, "matrix");
  EXPECT_EQ(waits[0].phase, "qk");
  EXPECT_EQ(waits[0].place, "kernel.cu:5") << "where qk is called, not its own line";
  EXPECT_DOUBLE_EQ(waits[0].waits, 10.0);
  EXPECT_DOUBLE_EQ(waits[0].waited_cycles, 80.0);
  EXPECT_DOUBLE_EQ(waits[0].issued_before_cycles.value(), 220.0);
  EXPECT_DOUBLE_EQ(waits[0].beside_cycles.at("softmax"), 160.0);
  EXPECT_DOUBLE_EQ(waits[0].beside_cycles.at("pv"), 60.0);
  EXPECT_DOUBLE_EQ(waits[0].hidden_ratio().value(), 220.0 / 300.0);
}

TEST(AsyncWorkTest, NewerGroupsMayGoOnAndTheWayLeadsRoundALoop) {
  // Two groups, and a wait for the older one; the newer one is waited for in the next round.
  const std::vector<AsyncWait> waits = WaitsOf({{{"", "FADD", "R1, R1, R1", kSoftmax}, 10, 8},
                                                {{"", "WARPGROUP.DEPBAR.LE", "gsb0, 0x0", kPv}, 10, 1},
                                                {{"", "HGMMA.64x64x16.F32", "R24, gdesc[UR4], gsb0", kQk}, 10, 1},
                                                {{"", "FADD", "R1, R1, R1", kSoftmax}, 10, 3},
                                                {{"", "HGMMA.64x64x16.F32", "R60, gdesc[UR4], gsb0", kPv}, 10, 2},
                                                {{"", "WARPGROUP.DEPBAR.LE", "gsb0, 0x1", kQk}, 10, 4},
                                                {{"@P0", "BRA", "0x0", {"Kernel(P)"}}, 10, 1},
                                                {{"", "EXIT", "", {}}, 1, 0}},
                                               200.0);
  ASSERT_EQ(waits.size(), 2U);
  EXPECT_EQ(waits[0].phase, "qk");
  EXPECT_DOUBLE_EQ(waits[0].waited_cycles, 4.0);
  EXPECT_DOUBLE_EQ(waits[0].issued_before_cycles.value(), 5.0) << "the newer group's issue is work beside it";
  EXPECT_EQ(waits[1].phase, "pv");
  EXPECT_DOUBLE_EQ(waits[1].waited_cycles, 1.0);
  EXPECT_DOUBLE_EQ(waits[1].issued_before_cycles.value(), 4.0 + 1.0 + 8.0) << "its own wait, the branch, softmax";
}

TEST(AsyncWorkTest, TheMostExecutedWayCounts) {
  const std::vector<AsyncWait> waits = WaitsOf({{{"", "HGMMA.64x64x16.F32", "R24, gdesc[UR4], gsb0", kQk}, 10, 1},
                                                {{"@P0", "BRA", "0x30", kSoftmax}, 10, 2},
                                                {{"", "FADD", "R1, R1, R1", kSoftmax}, 1, 5},  // a mask, once
                                                {{"", "WARPGROUP.DEPBAR.LE", "gsb0, 0x0", kQk}, 10, 2},
                                                {{"", "EXIT", "", {}}, 10, 0}},
                                               100.0);
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_DOUBLE_EQ(waits[0].issued_before_cycles.value(), 2.0);
}

TEST(AsyncWorkTest, CopiesAndStoresHaveGroupsTooAndHoldAWarpBehindTheirWait) {
  const std::vector<AsyncWait> waits = WaitsOf({{{"", "LDGDEPBAR", "", kSync}, 10, 1},
                                                {{"", "FADD", "R1, R1, R1", kSoftmax}, 10, 4},
                                                {{"", "DEPBAR.LE", "SB0, 0x0", kSync}, 10, 1},
                                                {{"", "WARPSYNC", "0xffffffff", kSync}, 10, 12, "long_scoreboard"},
                                                {{"", "UTMACMDFLUSH", "", kSync}, 10, 1},
                                                {{"", "DEPBAR.LE", "SB0, 0x0", {}}, 10, 1},
                                                {{"", "EXIT", "", {}}, 10, 0}},
                                               200.0);
  ASSERT_EQ(waits.size(), 2U);
  EXPECT_EQ(waits[0].kind, "copy");
  EXPECT_DOUBLE_EQ(waits[0].waited_cycles, 13.0);
  EXPECT_DOUBLE_EQ(waits[0].issued_before_cycles.value(), 4.0);
  EXPECT_DOUBLE_EQ(waits[0].hidden_ratio().value(), 4.0 / 17.0);
  EXPECT_EQ(waits[1].kind, "store");
  EXPECT_EQ(waits[1].place, "0x0050") << "without lines";
  EXPECT_DOUBLE_EQ(waits[1].hidden_ratio().value(), 0.0);
}

TEST(AsyncWorkTest, OtherWaitsBeforeAWaitAreNoWork) {
  const std::vector<AsyncWait> waits = WaitsOf({{{"", "HGMMA.64x64x16.F32", "R24, gdesc[UR4], R24, gsb0", kQk}, 10, 0},
                                                {{"", "SYNCS.PHASECHK.TRANS64.TRYWAIT", "P0[UR4], R4", kSync}, 70, 5},
                                                {{"@!P0", "BRA", "0x10", kSync}, 70, 15},
                                                {{"", "FADD", "R1, R1, R1", kSoftmax}, 10, 20, "barrier"},
                                                {{"", "FADD", "R1, R1, R1", kSoftmax}, 10, 30},
                                                {{"", "WARPGROUP.DEPBAR.LE", "gsb0, 0x0", kQk}, 10, 30, "barrier"},
                                                {{"", "EXIT", "", {}}, 10, 0}},
                                               1000.0);
  const auto products = std::ranges::find(waits, "matrix", &AsyncWait::kind);
  ASSERT_NE(products, waits.end());
  EXPECT_DOUBLE_EQ(products->waited_cycles, 30.0);
  EXPECT_DOUBLE_EQ(products->issued_before_cycles.value(), 70.0) << "all that the loop asks, for one wait";
  EXPECT_EQ(products->beside_cycles, (std::map<std::string, double>{{"softmax", 30.0}}));
  EXPECT_DOUBLE_EQ(products->hidden_ratio().value(), 0.3);
  const ProductOverlap overlap = OverlapOf(waits).value();
  EXPECT_DOUBLE_EQ(overlap.work_ratio, 0.3);
  EXPECT_DOUBLE_EQ(overlap.phase_ratio.at("softmax"), 0.3);
  EXPECT_FALSE(OverlapOf({}));
}

TEST(AsyncWorkTest, AGroupInABlockThatIsSkippedNowAndThenIsFound) {
  // A loop of 100 rounds copies in 90 of them; what comes before it runs once.
  const std::vector<AsyncWait> waits = WaitsOf({{{"", "LDGDEPBAR", "", kSync}, 1, 0},
                                                {{"", "FADD", "R1, R1, R1", kPv}, 1, 500},
                                                {{"@P0", "BRA", "0x40", kSoftmax}, 100, 0},
                                                {{"", "LDGDEPBAR", "", kSync}, 90, 0},
                                                {{"", "FADD", "R1, R1, R1", kSoftmax}, 100, 400},
                                                {{"", "DEPBAR.LE", "SB0, 0x0", kSync}, 100, 100},
                                                {{"@P1", "BRA", "0x20", {}}, 100, 0},
                                                {{"", "EXIT", "", {}}, 1, 0}},
                                               1000.0);
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_DOUBLE_EQ(waits[0].issued_before_cycles.value(), 4.0);
}

TEST(AsyncWorkTest, ALoopThatIsLeftByABranchIsLeftAsOftenAsThatIsTaken) {
  const std::vector<AsyncWait> waits = WaitsOf({{{"", "SYNCS.PHASECHK.TRANS64", "P0[UR4], R4", kSync}, 70, 2},
                                                {{"@P0", "BRA", "0x40", kSync}, 70, 3},
                                                {{"", "BRA", "0x0", kSync}, 60, 5},
                                                {{"", "NOP", "", {}}, 0, 0},
                                                {{"", "EXIT", "", {}}, 10, 0}},
                                               100.0);
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_DOUBLE_EQ(waits[0].waits, 10.0);
}

TEST(AsyncWorkTest, AUniformPredicateIsAnother) {
  const DeviceFunction function = MakeFunction(
      {{"", "SYNCS.PHASECHK.TRANS64", "P2[UR4], R4", {}}, {"", "BRA.U", "!UP2, 0x0", {}}, {"", "EXIT", "", {}}});
  EXPECT_TRUE(MbarrierWaits(function).empty());
}

TEST(AsyncWorkTest, AForgedFunctionOfWaitsIsGivenUp) {
  const std::vector<Measured> code(20'000, Measured{{"", "WARPGROUP.DEPBAR.LE", "gsb0, 0xffffff", {}}, 10, 1});
  EXPECT_TRUE(WaitsOf(code, 100.0).empty());
}

TEST(AsyncWorkTest, AWaitWhoseGroupIsNotFoundIsLeftOut) {
  EXPECT_TRUE(
      WaitsOf({{{"", "WARPGROUP.DEPBAR.LE", "gsb0, 0x0", kQk}, 10, 2}, {{"", "EXIT", "", {}}, 10, 0}}, 100.0).empty());
}

TEST(AsyncWorkTest, AWaitForAnMbarrierCountsEachTimeOnceHoweverOftenItAsks) {
  const std::vector<AsyncWait> waits = WaitsOf({{{"", "SYNCS.PHASECHK.TRANS64.TRYWAIT", "P0[UR4], R4", kSync}, 70, 2},
                                                {{"@!P0", "BRA", "0x0", kSync}, 70, 18},
                                                {{"", "FADD", "R1, R1, R1", kSoftmax}, 10, 5},
                                                {{"", "EXIT", "", {}}, 10, 0}},
                                               2500.0);
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].kind, "mbarrier");
  EXPECT_EQ(waits[0].phase, "sync");
  EXPECT_EQ(waits[0].place, "kernel.cu:1");
  EXPECT_DOUBLE_EQ(waits[0].waits, 10.0);
  EXPECT_DOUBLE_EQ(waits[0].waited_cycles, 200.0);
  EXPECT_FALSE(waits[0].issued_before_cycles);
  EXPECT_FALSE(waits[0].hidden_ratio());
}

/// Asked early, with the loop that asks again after the kernel. The table gives question and branch other rows.
std::vector<Measured> AskedEarly() {
  return {{{"", "SYNCS.PHASECHK.TRANS64.TRYWAIT", "P0[UR4], R4", kSoftmax}, 10, 1},
          {{"", "FADD", "R1, R1, R1", kSoftmax}, 10, 2},
          {{"@!P0", "BRA", "0x60", kQk}, 10, 6},
          {{"", "FADD", "R1, R1, R1", kSoftmax}, 10, 1},
          {{"@P1", "BRA", "0x0", kSoftmax}, 10, 0},
          {{"", "EXIT", "", {}}, 1, 0},
          {{"", "SYNCS.PHASECHK.TRANS64.TRYWAIT", "P0[UR4], R4", kSync}, 4, 0},
          {{"@!P0", "BRA", "0x60", kSync}, 4, 3},
          {{"", "BRA", "0x30", kSync}, 2, 0}};
}

TEST(AsyncWorkTest, AnEarlyQuestionAndItsBranchAreOfTheLoopThatAsksAgain) {
  const std::vector<AsyncWait> waits = WaitsOf(AskedEarly(), 130.0);
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].phase, "sync");
  EXPECT_EQ(waits[0].place, "kernel.cu:7");
  EXPECT_DOUBLE_EQ(waits[0].waits, 10.0);
  EXPECT_DOUBLE_EQ(waits[0].waited_cycles, 10.0) << "question 1, branch 6, loop 3";
}

TEST(AsyncWorkTest, ABranchToAnEarlyQuestionIsNoWait) {
  std::vector<Line> lines;
  for (const Measured& each : AskedEarly()) lines.push_back(each.line);
  lines[4].predicate = "@!P0";  // the loop's own condition has the predicate of the answer by chance
  const DeviceFunction function = MakeFunction(lines);
  const std::vector<MbarrierWait> waits = MbarrierWaits(function);
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].branch, 2U);
  EXPECT_TRUE(waits[0].early());
  EXPECT_FALSE(AsyncWaits(function)[4]);
  const auto stacks = InlineStacks(function);
  EXPECT_EQ(stacks[0], stacks[2]);
  EXPECT_EQ(stacks[0]->at(1).function, "ns::sync(int)");
  EXPECT_EQ(stacks[4]->front().function, "ns::softmax()");
}

TEST(AsyncWorkTest, WithoutSamplesThereAreNoWaits) {
  EXPECT_TRUE(WaitsOf({{{"", "WARPGROUP.DEPBAR.LE", "gsb0, 0x0", kQk}, 10, 0}}, 100.0).empty());
}

}  // namespace
}  // namespace fa_profile::analyze::async_work_test
