#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/gate.h"
#include "gate_scenario.h"

/// A baseline of other cards of the same model.
namespace fa_profile::gate::judge_cards_test {
namespace {

/// A card and the time of each case on it, in microseconds.
using Card = std::pair<std::string, std::vector<double>>;

void AddProcesses(Scenario& scenario, Evidence& side, const std::string& card, const std::vector<double>& microseconds,
                  int count) {
  for (int i = 0; i < count; ++i) {
    ProcessSample process = scenario.Process("timing", 1, -1);
    process.gpu_uuid = card;
    for (std::size_t c = 0; c < microseconds.size(); ++c) {
      process.values[c][{"", kDuration}] = microseconds[c] * 1e-6 * (1.0 + 0.0005 * (i % 2 == 0 ? 1 : -1));
      process.values[c][{"", kCycles}] = process.values[c][{"", kDuration}] * 1.8e9;
    }
    side.processes.push_back(process);
  }
}

/// A promoted baseline of these cards, and a candidate of one process on GPU-9.
Scenario Baseline(const std::vector<Card>& cards, std::vector<double> after) {
  Scenario scenario("baseline");
  for (std::size_t c = 1; c < after.size(); ++c) scenario.AddCase("case" + std::to_string(c));
  scenario.input.base_is_promoted = true;
  scenario.input.base.environment.gpu_uuid = cards.size() == 1 ? cards[0].first : "";
  for (const auto& [card, microseconds] : cards) {
    AddProcesses(scenario, scenario.input.base, cards.size() == 1 ? "" : card, microseconds, 8);
  }
  scenario.input.candidate.environment.gpu_uuid = "GPU-9";
  AddProcesses(scenario, scenario.input.candidate, "", after, 1);
  return scenario;
}

std::string NoteOn(const Scenario& scenario) {
  for (const std::string& note : scenario.Judged().notes) {
    if (Has(note, "another card")) return note;
  }
  return "";
}

std::string Reason(const Scenario& scenario, const std::string& kernel = "mma") {
  return Find(scenario.Of(kernel), kDuration).reason;
}

TEST(JudgeCardsTest, TheSameCardHasTheBudgetAlone) {
  Scenario scenario = Baseline({{"GPU-9", {100}}}, {104.9});
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
  EXPECT_EQ(Reason(scenario), "drifted, within the budget of 5.0 %");
  EXPECT_EQ(NoteOn(scenario), "");
  EXPECT_EQ(Baseline({{"GPU-9", {100}}}, {105.1}).Judged().verdict, Verdict::kRegression);
}

TEST(JudgeCardsTest, AnotherCardAddsTwoDeviationsOfTheDifferenceBetweenTwoCards) {
  // 2 x 2.4 % x sqrt(2) = 6.8 %.
  EXPECT_EQ(Reason(Baseline({{"GPU-1", {100}}}, {101.9})), "");
  EXPECT_EQ(Reason(Baseline({{"GPU-1", {100}}}, {103.9})), "another card: within 2.0 % and 6.8 % between cards");
  EXPECT_EQ(Reason(Baseline({{"GPU-1", {100}}}, {111.6})),
            "drifted, within the budget of 5.0 % and 6.8 % between cards");
  Scenario over = Baseline({{"GPU-1", {100}}}, {111.9});
  EXPECT_EQ(over.Judged().verdict, Verdict::kRegression);
  EXPECT_EQ(Reason(over), "drifted over the budget of 5.0 % and 6.8 % between cards");
  EXPECT_EQ(Find(over.Of("mma"), kDuration).tier, 3);
  EXPECT_TRUE(Has(NoteOn(over), "another card, GPU-9, than the base, GPU-1")) << NoteOn(over);
  EXPECT_TRUE(Has(NoteOn(over), "2.4 % at least (between_cards)")) << NoteOn(over);
  // A gain has no budget to use up: 1.8 % between processes and 6.8 % between cards, as independent errors.
  EXPECT_EQ(Baseline({{"GPU-1", {100}}}, {93.2}).Judged().verdict, Verdict::kPass);
  EXPECT_EQ(Baseline({{"GPU-1", {100}}}, {92.8}).Judged().verdict, Verdict::kImproved);
}

TEST(JudgeCardsTest, TheDefaultIsASetting) {
  Scenario scenario = Baseline({{"GPU-1", {100}}}, {105.1});
  scenario.thresholds.between_cards = 0.0;
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kRegression);
}

TEST(JudgeCardsTest, AnUnknownCardCountsAsTheSame) {
  Scenario scenario = Baseline({{"GPU-1", {100}}}, {105.1});
  scenario.input.candidate.environment.gpu_uuid.clear();
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kRegression);
  EXPECT_EQ(NoteOn(scenario), "");
}

TEST(JudgeCardsTest, ARecordingOfAnotherCardHasTheTermToo) {
  Scenario scenario("recordings");
  AddProcesses(scenario, scenario.input.base, "", {100}, 1);
  AddProcesses(scenario, scenario.input.candidate, "", {107}, 1);
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kRegression);
  scenario.input.candidate.environment.gpu_uuid = "GPU-9";
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
}

TEST(JudgeCardsTest, TheCandidatesOwnCardIsTheOneToCompareWith) {
  const std::vector<Card> cards{{"GPU-1", {100}}, {"GPU-9", {110}}};
  EXPECT_EQ(Reason(Baseline(cards, {111})), "");
  EXPECT_NEAR(*Find(Baseline(cards, {111}).Of("mma"), kDuration).base, 110e-6, 1e-8);
  EXPECT_EQ(Baseline(cards, {115.6}).Judged().verdict, Verdict::kRegression);
  EXPECT_EQ(NoteOn(Baseline(cards, {115.6})), "");
}

TEST(JudgeCardsTest, EachCardCountsOnce) {
  Scenario scenario = Baseline({{"GPU-1", {100}}, {"GPU-2", {102}}, {"GPU-3", {104}}}, {102});
  AddProcesses(scenario, scenario.input.base, "GPU-3", {104}, 90);
  EXPECT_NEAR(*Find(scenario.Of("mma"), kDuration).base, 102e-6, 1e-7);
}

TEST(JudgeCardsTest, FewCardsArePooledOverTheCasesAndDoNotNarrowTheLimits) {
  // Two cards that happen to be alike: the default counts, with sqrt(1 + 1/2).
  EXPECT_EQ(Reason(Baseline({{"GPU-1", {100, 50}}, {"GPU-2", {100, 50}}}, {105, 50})),
            "another card: within 2.0 % and 5.9 % between cards");
  // Two that differ by 10 % in both cases: 10 % / sqrt(2) is the deviation of each case.
  const Scenario apart = Baseline({{"GPU-1", {100, 50}}, {"GPU-2", {110, 55}}}, {120, 60});
  const double deviation = std::log(1.1) / std::sqrt(2.0);
  EXPECT_NEAR(2.0 * deviation * std::sqrt(1.5), 0.165, 0.001);
  EXPECT_EQ(Reason(apart), "another card: within 2.0 % and 16.5 % between cards");
  // Only one case differs: the mean of the variances.
  EXPECT_EQ(Reason(Baseline({{"GPU-1", {100, 50}}, {"GPU-2", {110, 50}}}, {115, 50})),
            "another card: within 2.0 % and 11.7 % between cards");
}

TEST(JudgeCardsTest, FourCardsGiveEachCaseItsOwnTerm) {
  // Case mma differs by 4 % and case1 does not; half of each variance is the pooled one.
  const std::vector<Card> cards{{"GPU-1", {98, 50}}, {"GPU-2", {102, 50}}, {"GPU-3", {98, 50}}, {"GPU-4", {102, 50}}};
  const Scenario scenario = Baseline(cards, {103, 51.5});
  const double own = std::pow(std::log(102.0 / 98.0), 2.0) / 3.0;
  const auto term = [&](double variance) {
    return 2.0 * std::sqrt((own / 2.0 + variance) / 2.0) * std::sqrt(1.25) * 100.0;
  };
  EXPECT_NEAR(term(own), 4.47, 0.01);
  EXPECT_NEAR(term(0.0), 2.58, 0.01);
  EXPECT_EQ(Reason(scenario), "another card: within 2.0 % and 4.5 % between cards");
  EXPECT_EQ(Reason(scenario, "case1"), "another card: within 2.0 % and 2.6 % between cards");
  EXPECT_TRUE(Has(NoteOn(scenario), "of each case, between the 4 cards of the base")) << NoteOn(scenario);
}

TEST(JudgeCardsTest, PhasesHaveTheTermOfTheirKernel) {
  const auto judged = [](const std::string& card) {
    Scenario scenario("baseline");
    scenario.input.base_is_promoted = true;
    scenario.input.candidate.environment.gpu_uuid = card;
    for (int i = 0; i < 8; ++i) {
      scenario.Record(1, {{{"", kDuration}, 100e-6}, {{"qk", kPhaseTime}, 0.5}, {{"softmax", kPhaseTime}, 0.5}},
                      {{{"", kDuration}, 100e-6}, {{"qk", kPhaseTime}, 0.42}, {{"softmax", kPhaseTime}, 0.58}});
    }
    return scenario.Judged();
  };
  EXPECT_EQ(judged("GPU-1").verdict, Verdict::kRegression);
  EXPECT_EQ(judged("GPU-9").verdict, Verdict::kPass);
}

}  // namespace
}  // namespace fa_profile::gate::judge_cards_test
