// What the gate says about a case: its headline, and why.

#include <gtest/gtest.h>

#include <string>

#include "fa_profile/gate.h"
#include "fa_profile/profile.h"
#include "gate_scenario.h"

namespace fa_profile::gate::judge_story_test {
namespace {

Scenario::Values Shares(double qk, double softmax) {
  return {{{"qk", kPhaseTime}, qk}, {{"softmax", kPhaseTime}, softmax}};
}

/// The verdict on a kernel that takes `time` times as long, with these shares of qk.
CaseVerdict Of(double time, double qk_before, double qk_after) {
  Scenario scenario = Measured({time});
  for (const auto& [pairs, stage] : {std::pair{8, 1}, {14, 2}}) {
    scenario.Record(pairs, Shares(qk_before, 1.0 - qk_before), Shares(qk_after, 1.0 - qk_after), stage);
  }
  return scenario.Of();
}

TEST(JudgeStoryTest, ASerialSoftmaxIsNamedWithWhatShowsIt) {
  // Tensor cores take over QK while one thread does the softmax: slower in all, and the bottleneck is another one.
  Scenario scenario = Measured({1.4});
  Scenario::Values before = Shares(0.69, 0.31);
  Scenario::Values after = Shares(0.458, 0.542);
  before[{"softmax", "phase_threads_per_instruction"}] = 32.0;
  after[{"softmax", "phase_threads_per_instruction"}] = 1.0;
  before[{"softmax", "phase_instructions"}] = 1000.0;
  after[{"softmax", "phase_instructions"}] = 9000.0;
  before[{"", "stall_barrier_ratio"}] = 0.04;
  after[{"", "stall_barrier_ratio"}] = 0.31;
  scenario.Record(8, before, after);
  scenario.Record(14, before, after, 2);
  scenario.Candidate().findings["serial-softmax"] = "1.0 threads per instruction";
  scenario.Base().findings["exp-bound"] = "old";
  scenario.Candidate().findings["exp-bound"] = "old";
  const CaseVerdict verdict = scenario.Of();
  EXPECT_EQ(verdict.verdict, Verdict::kRegression);
  EXPECT_EQ(verdict.phase, "softmax");
  EXPECT_EQ(verdict.bottleneck_before, "qk");
  EXPECT_EQ(verdict.bottleneck_after, "softmax");
  EXPECT_TRUE(Has(verdict.headline, "slower: softmax costs 145 % more")) << verdict.headline;
  EXPECT_EQ(verdict.why, (std::vector<std::string>{"softmax costs 145 % more: 31.0 -> 54.2 % of the time",
                                                   "most time is now in softmax, before in qk",
                                                   "threads per instruction in softmax 32 -> 1 (-96.9 %)",
                                                   "instructions in softmax 1,000 -> 9,000 (9 times)",
                                                   "barrier stalls 4.0 -> 31.0 % of the warps' time"}));
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_EQ(verdict.findings[0].id, "serial-softmax");
  EXPECT_EQ(verdict.findings[0].evidence, "1.0 threads per instruction");
  EXPECT_TRUE(Find(verdict, kPhaseTime, "softmax").told);
  EXPECT_TRUE(Find(verdict, "phase_instructions", "softmax").told);
  EXPECT_FALSE(Find(verdict, kPhaseTime, "qk").told);
  ASSERT_TRUE(verdict.place);
  EXPECT_EQ(verdict.place->line, 77);
}

TEST(JudgeStoryTest, WithoutANewFindingThePhaseTellsWhatItWaitsFor) {
  Scenario scenario = Measured({1.2});
  for (const auto& [pairs, stage] : {std::pair{8, 1}, {14, 2}}) {
    scenario.Record(pairs, Shares(0.7, 0.3), Shares(0.55, 0.45), stage);
  }
  scenario.Base().findings["bottleneck-phase"] = "qk takes 70 % of the time: wait 50 % of its samples";
  scenario.Candidate().findings["bottleneck-phase"] = "softmax takes 45 % of the time: barrier 40 % of its samples";
  ASSERT_EQ(scenario.Of().findings.size(), 1u);
  EXPECT_EQ(scenario.Of().findings[0].id, "bottleneck-phase");
  scenario.Candidate().findings["bottleneck-phase"] = "qk takes 55 % of the time: wait 50 % of its samples";
  EXPECT_TRUE(scenario.Of().findings.empty()) << "it is about a phase that did not get worse";
}

TEST(JudgeStoryTest, AShareThatFallsWhileThePhaseCostsMoreReadsAsSuch) {
  const CaseVerdict verdict = Of(1.35, 0.542, 0.462);
  EXPECT_TRUE(Has(verdict.headline, "slower: softmax costs 59 % more")) << verdict.headline;
  EXPECT_TRUE(HasLine(verdict.why, "softmax costs 59 % more: 45.8 -> 53.8 % of the time"));
  EXPECT_TRUE(HasLine(verdict.why, "qk costs 15 % more and its share falls from 54.2 to 46.2 %"));
}

TEST(JudgeStoryTest, AKernelThatIsSlowerEverywhereBlamesNoPhase) {
  for (const double qk : {0.542, 0.545, 0.538}) {
    const CaseVerdict verdict = Of(1.25, 0.542, qk);
    EXPECT_EQ(verdict.verdict, Verdict::kRegression);
    EXPECT_TRUE(Has(verdict.headline, " slower in every phase")) << verdict.headline;
    EXPECT_EQ(verdict.phase, "");
    ASSERT_FALSE(verdict.why.empty());
    EXPECT_TRUE(verdict.why[0].starts_with("every large phase is slower by about the same factor: 2"))
        << verdict.why[0];
    EXPECT_FALSE(HasLine(verdict.why, "of the time"));
  }
  const CaseVerdict one = Of(1.25, 0.542, 0.6336);  // qk only
  EXPECT_EQ(one.phase, "qk");
  EXPECT_TRUE(Has(one.headline, ": qk costs 46 % more")) << one.headline;
}

TEST(JudgeStoryTest, APhaseThatGrowsAlongIsNotTheCause) {
  const auto with = [](const Scenario::Values& before, const Scenario::Values& after) {
    Scenario scenario = Measured({1.25});
    scenario.Record(8, before, after);
    scenario.Record(14, before, after, 2);
    return scenario.Of();
  };
  const auto shares = [](double pv, double qk, double softmax) {
    return Scenario::Values{{{"pv", kPhaseTime}, pv}, {{"qk", kPhaseTime}, qk}, {{"softmax", kPhaseTime}, softmax}};
  };
  // pv takes most and adds most, like the whole; only softmax takes a larger part.
  const CaseVerdict small = with(shares(0.425, 0.509, 0.066), shares(0.429, 0.491, 0.080));
  EXPECT_TRUE(Has(small.headline, " slower in every phase")) << small.headline;
  EXPECT_TRUE(small.why[0].starts_with("every large phase is slower, by ")) << small.why[0];
  EXPECT_TRUE(small.why[1].starts_with("softmax costs 5")) << small.why[1];
  EXPECT_FALSE(HasLine(small.why, "42.5 -> 42.9"));
  const CaseVerdict large = with(shares(0.425, 0.509, 0.066), shares(0.429, 0.411, 0.160));
  EXPECT_EQ(large.phase, "softmax") << large.headline;
}

TEST(JudgeStoryTest, ASmallSlowdownByOnePhaseIsNotEveryPhases) {
  // 3 % slower, only because of softmax: it had 45.8 % and has (0.458 + 0.03) / 1.03.
  const CaseVerdict verdict = Of(1.03, 0.542, 0.542 / 1.03);
  EXPECT_EQ(verdict.phase, "softmax");
  EXPECT_TRUE(Has(verdict.headline, ": softmax costs ")) << verdict.headline;
}

/// Both sides of a kernel whose phases overlap. It takes 20 % longer: softmax does a fifth more work, and the time of
/// warps that wait for it goes to qk, which did not change.
struct Overlap {
  Scenario::Values before, after;

  Overlap() {
    Add("qk", 0.10, 0.25, 1000.0, 1000.0);
    Add("softmax", 0.70, 0.58, 8000.0, 9600.0);
    Add("sync", 0.20, 0.17, 1000.0, 1000.0);
    Own("softmax", 0.60, 0.62);
  }

  void Add(const std::string& phase, double share, double share_after, double instructions, double instructions_after) {
    before[{phase, kPhaseTime}] = share;
    after[{phase, kPhaseTime}] = share_after;
    Count(phase, "phase_instructions", instructions, instructions_after);
  }
  void Count(const std::string& phase, const std::string& metric, double count, double count_after) {
    before[{phase, metric}] = count;
    after[{phase, metric}] = count_after;
  }
  /// Share of all samples at the phase's own instructions.
  void Own(const std::string& phase, double share, double share_after) {
    Count(phase, "phase_warp_time_ratio", share, share_after);
  }

  CaseVerdict Judged() const {
    Scenario scenario = Measured({1.2});
    scenario.Record(8, before, after);
    scenario.Record(14, before, after, 2);
    return scenario.Of();
  }
};

TEST(JudgeStoryTest, ThePhaseThatAloneDoesMoreWorkIsTheCause) {
  const CaseVerdict verdict = Overlap().Judged();
  EXPECT_EQ(verdict.verdict, Verdict::kRegression);
  EXPECT_EQ(verdict.phase, "softmax");
  EXPECT_TRUE(Has(verdict.headline, " slower: softmax executes 20 % more instructions")) << verdict.headline;
  EXPECT_TRUE(HasLine(verdict.why, "instructions in softmax 8,000 -> 9,600 (+20.0 %)"));
  EXPECT_TRUE(HasLine(verdict.why, "qk costs ")) << "the time is told all the same";
  ASSERT_TRUE(verdict.place);
  EXPECT_EQ(verdict.place->line, 77);
}

TEST(JudgeStoryTest, WhereEveryPhaseIsSlowerTheOneThatDoesMoreWorkIsTheCause) {
  Overlap kernel;
  kernel.Add("qk", 0.10, 0.10, 1000.0, 1000.0);
  kernel.Add("softmax", 0.70, 0.70, 8000.0, 8000.0);
  kernel.Add("sync", 0.20, 0.20, 1000.0, 1000.0);
  kernel.Own("sync", 0.05, 0.15);
  EXPECT_TRUE(Has(kernel.Judged().headline, " slower in every phase")) << kernel.Judged().headline;
  kernel.Count("sync", "phase_barriers", 0.0, 4096.0);
  kernel.Count("sync", "phase_instructions", 1000.0, 1100.0);
  const CaseVerdict verdict = kernel.Judged();
  EXPECT_EQ(verdict.phase, "sync");
  EXPECT_TRUE(Has(verdict.headline, " slower: sync executes 4,096 barriers instead of none")) << verdict.headline;
  EXPECT_TRUE(HasLine(verdict.why, "every large phase is slower"));
  kernel.Count("softmax", "phase_instructions", 8000.0, 8800.0);
  EXPECT_EQ(kernel.Judged().phase, "") << "several do more";
  EXPECT_TRUE(Has(kernel.Judged().headline, " slower in every phase")) << kernel.Judged().headline;
}

TEST(JudgeStoryTest, MoreWorkIsToldAsItIsCounted) {
  Overlap kernel;
  kernel.Count("softmax", "phase_instructions", 8000.0, 8000.0);
  const auto says = [&kernel](double before, double after, const char* text) {
    kernel.Count("softmax", "phase_shared_wavefronts", before, after);
    EXPECT_TRUE(Has(kernel.Judged().headline, text)) << kernel.Judged().headline;
  };
  says(1000.0, 8000.0, ": softmax has 8 times the SASS shared wavefronts");
  says(1000.0, 1030.0, ": softmax has 3.0 % more SASS shared wavefronts");
  says(0.0, 64.0, ": softmax has 64 SASS shared wavefronts instead of none");
}

TEST(JudgeStoryTest, TheTimeNamesTheCauseWhereTheWorkDoesNot) {
  const auto named_by_time = [](const Overlap& kernel, const char* why) {
    const CaseVerdict verdict = kernel.Judged();
    EXPECT_EQ(verdict.phase, "qk") << why;
    EXPECT_TRUE(Has(verdict.headline, " slower: qk costs ")) << why << ": " << verdict.headline;
  };
  Overlap kernel;
  kernel.Count("qk", "phase_instructions", 1000.0, 1100.0);
  named_by_time(kernel, "it does more work too");
  kernel = Overlap();
  kernel.Count("sync", "phase_instructions", 1000.0, 1100.0);
  named_by_time(kernel, "two others do more work");
  kernel = Overlap();
  kernel.Count(kUnattributed, "phase_instructions", 1000.0, 1100.0);
  named_by_time(kernel, "so does code that may be any phase's");
  kernel = Overlap();
  kernel.Own("softmax", 0.60, 0.505);
  named_by_time(kernel, "its warps spend hardly more time in softmax: more of what costs nothing");
  kernel = Overlap();
  kernel.Own("softmax", 0.60, 0.45);
  named_by_time(kernel, "its warps spend less time in softmax");
  kernel = Overlap();
  kernel.before.erase({"softmax", "phase_warp_time_ratio"});
  named_by_time(kernel, "where its warps spend their time is unknown");
  kernel = Overlap();
  kernel.Count("softmax", "phase_instructions", 8000.0, 8049.0);
  named_by_time(kernel, "less than 0.5 % of the kernel's instructions");
  kernel = Overlap();
  kernel.Count("softmax", "phase_instructions", 8000.0, 8000.0);
  kernel.Count("softmax", "phase_threads_per_instruction", 32.0, 31.0);
  named_by_time(kernel, "a mean is not work");
  kernel = Overlap();
  kernel.Count("softmax", "phase_instructions", 8000.0, 7000.0);
  kernel.Count("softmax", "phase_exponentials", 1000.0, 1200.0);
  named_by_time(kernel, "what has no better direction is not judged");
  kernel = Overlap();
  for (Scenario::Values* const side : {&kernel.before, &kernel.after}) {
    for (const char* const phase : {"qk", "softmax", "sync"}) side->erase({phase, "phase_instructions"});
  }
  named_by_time(kernel, "nothing was counted");
}

/// All three phases spill, qk most; softmax takes longer.
Overlap Spills() {
  Overlap kernel;
  kernel.Count("qk", "phase_instructions", 1000.0, 1100.0);
  kernel.Count("qk", "phase_local_sectors", 0.0, 2400.0);
  kernel.Count("sync", "phase_local_sectors", 0.0, 4.0);
  kernel.Count("softmax", "phase_local_sectors", 0.0, 2000.0);
  return kernel;
}

TEST(JudgeStoryTest, WhereSeveralPhasesDoMoreWorkThePhaseThatSpillsMostIsTheCause) {
  const CaseVerdict verdict = Spills().Judged();
  EXPECT_EQ(verdict.phase, "qk");
  EXPECT_TRUE(
      Has(verdict.headline, " slower: qk has 2,400 local sectors instead of none, the largest growth of all phases"))
      << verdict.headline;
}

TEST(JudgeStoryTest, FewSpillsOrSpillsThatCostNothingAreNotTheCause) {
  const auto named_by_time = [](const Overlap& kernel, const char* why) {
    EXPECT_TRUE(Has(kernel.Judged().headline, " slower: qk costs ")) << why << ": " << kernel.Judged().headline;
  };
  Overlap kernel = Spills();
  kernel.Count("qk", "phase_local_sectors", 0.0, 200.0);
  kernel.Count("softmax", "phase_local_sectors", 0.0, 100.0);
  named_by_time(kernel, "less than a twentieth of the instructions of qk");
  kernel = Spills();
  kernel.Count("softmax", "phase_local_sectors", 0.0, 1800.0);
  named_by_time(kernel, "less than a twentieth of those of softmax, which takes longer");
  kernel = Spills();
  kernel.Own("softmax", 0.60, 0.55);
  named_by_time(kernel, "they explain less than half of what the kernel grew");
  kernel = Spills();
  kernel.Own("softmax", 0.60, 0.40);
  named_by_time(kernel, "warps do not take longer in the phases that spill");
  kernel = Spills();
  kernel.Count(kUnattributed, "phase_local_sectors", 0.0, 4000.0);
  named_by_time(kernel, "most spills may be any phase's");
}

/// Warps in sync wait for a copy that comes later: 10 % of all warps' time before, 27.6 % of a longer time after.
Overlap LateCopies() {
  Overlap kernel;
  kernel.Count("softmax", "phase_instructions", 8000.0, 8000.0);
  kernel.Own("softmax", 0.60, 0.55);
  kernel.Own("sync", 0.20, 0.30);
  kernel.Count("sync", "phase_async_wait_ratio", 0.50, 0.92);
  return kernel;
}

TEST(JudgeStoryTest, WaitsThatNoPhasesTimeHasAreTheCauseIfTheyGrewMost) {
  const CaseVerdict verdict = LateCopies().Judged();
  EXPECT_EQ(verdict.phase, "sync");
  EXPECT_TRUE(Has(verdict.headline, " slower: sync waits 27.6 % of the warps' time (was 10.0 %)")) << verdict.headline;
}

TEST(JudgeStoryTest, WaitsAreNotTheCauseWhereAnotherPhaseGrewMoreOrTheyAreUnknown) {
  const auto named_by_time = [](const Overlap& kernel, const char* why) {
    EXPECT_EQ(kernel.Judged().phase, "qk") << why << ": " << kernel.Judged().headline;
  };
  Overlap kernel = LateCopies();
  kernel.Own("softmax", 0.40, 0.60);
  named_by_time(kernel, "warps spend more in softmax");
  kernel = LateCopies();
  kernel.Count("sync", "phase_async_wait_ratio", 0.50, 0.30);
  named_by_time(kernel, "they wait less than a point longer");
  kernel = LateCopies();
  kernel.before.erase({"sync", "phase_async_wait_ratio"});
  named_by_time(kernel, "what the base waits is unknown");
}

TEST(JudgeStoryTest, APhaseThatSpinsAsLongAsItHappensToDoesNotDoMoreWork) {
  const Overlap kernel;
  Scenario scenario = Measured({1.2});
  for (const auto& [pairs, stage] : {std::pair{8, 1}, {14, 2}}) {
    for (int pair = 0; pair < pairs; ++pair) {
      Overlap one = kernel;
      const double instructions = 8000.0 + 500.0 * (pair % 4);  // the base's, too, from process to process
      one.Count("softmax", "phase_instructions", instructions, instructions + 200.0);
      scenario.Record(1, one.before, one.after, stage);
    }
  }
  const CaseVerdict verdict = scenario.Of();
  EXPECT_TRUE(Has(Find(verdict, "phase_instructions", "softmax").reason, "not judged"));
  EXPECT_EQ(verdict.phase, "qk") << verdict.headline;
}

TEST(JudgeStoryTest, ANewPhaseIsTheCauseWhateverElseDoesMoreWork) {
  Overlap kernel;
  for (const char* const metric : {kPhaseTime, "phase_instructions"}) {
    kernel.after[{"rotary", metric}] = kernel.after.at({"qk", metric});
    kernel.before.erase({"qk", metric});
    kernel.after.erase({"qk", metric});
  }
  const CaseVerdict verdict = kernel.Judged();
  EXPECT_EQ(verdict.phase, "rotary");
  EXPECT_TRUE(Has(verdict.headline, " slower: rotary is new: 25.0 % of the time")) << verdict.headline;
}

TEST(JudgeStoryTest, AFactorIsToldAsAFactor) {
  const CaseVerdict verdict = Of(50.0, 0.5, 0.02);
  EXPECT_TRUE(verdict.headline.starts_with("takes 5")) << verdict.headline;
  EXPECT_TRUE(Has(verdict.headline, " times as long: softmax costs 9")) << verdict.headline;
  EXPECT_TRUE(Has(verdict.headline, " times as much")) << verdict.headline;
  EXPECT_FALSE(HasLine(verdict.why, "qk costs")) << "a fiftieth of the time that was added explains nothing";
}

TEST(JudgeStoryTest, AnImprovementIsExplainedToo) {
  Scenario scenario = Measured({0.8});
  Scenario::Values before = Shares(0.5, 0.5);
  Scenario::Values after = Shares(0.625, 0.375);
  before[{"softmax", "phase_instructions"}] = 9000.0;
  after[{"softmax", "phase_instructions"}] = 1000.0;
  scenario.Record(8, before, after);
  scenario.Base().findings["serial-softmax"] = "1.0 threads per instruction";
  const CaseVerdict verdict = scenario.Of();
  EXPECT_EQ(verdict.verdict, Verdict::kImproved);
  EXPECT_TRUE(HasLine(verdict.why, "softmax costs 40 % less: 50.0 -> 37.5 % of the time"));
  EXPECT_TRUE(HasLine(verdict.why, "instructions in softmax 9,000 -> 1,000 (-88.9 %)"));
  EXPECT_TRUE(HasLine(verdict.why, "no longer found: serial-softmax"));
  EXPECT_TRUE(verdict.findings.empty());
}

TEST(JudgeStoryTest, AWarningThatTimeOverruledIsMarked) {
  Scenario scenario = Measured({0.85});
  scenario.Code().blocks_per_sm = 1;
  for (CaseFacts* const facts : {&scenario.Base(), &scenario.Candidate()}) facts->launches.clear();
  const CaseVerdict verdict = scenario.Of();
  EXPECT_EQ(verdict.verdict, Verdict::kImproved);
  const Comparison blocks = Find(verdict, "blocks_per_sm");
  EXPECT_TRUE(blocks.overruled);
  EXPECT_FALSE(blocks.blocking);
  EXPECT_TRUE(Has(blocks.reason, "resident blocks per SM 4 -> 1, and 1")) << blocks.reason;
  EXPECT_TRUE(Has(blocks.reason, " % faster all the same")) << blocks.reason;
}

}  // namespace
}  // namespace fa_profile::gate::judge_story_test
