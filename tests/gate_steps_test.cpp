// The gate on recordings of real kernels that became faster step by step: forwards no step is a regression because it
// executes more of something, and backwards each step that is longer than the error term is one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/gate.h"
#include "fa_profile/recording_evidence.h"

namespace fa_profile::gate::gate_steps_test {
namespace {

/// The evidence of a recording, read once.
const Evidence& Recorded(const std::string& name) {
  static std::map<std::string, Evidence> read;
  const auto found = read.find(name);
  if (found != read.end()) return found->second;
  return read.emplace(name, LoadEvidence({FA_PROFILE_SOURCE "/recordings/" + name + ".fap"})).first->second;
}

GateResult JudgeStep(const Evidence& base, const Evidence& candidate) {
  GateInput input;
  input.base = base;
  input.candidate = candidate;
  input.design = "recordings";
  input.today = "2026-11-26";
  return Judge(input, {});
}

GateResult JudgeStep(const std::string& base, const std::string& candidate) {
  return JudgeStep(Recorded("hopper/" + base), Recorded("hopper/" + candidate));
}

Comparison TimeOf(const CaseVerdict& verdict) {
  for (const Comparison& comparison : verdict.comparisons) {
    if (comparison.metric == kDuration) return comparison;
  }
  return {};
}

/// Everything that a verdict on recorded times must keep to.
void ExpectTimeDecides(const GateResult& result, const std::string& step) {
  ASSERT_EQ(result.cases.size(), 1U) << step;
  const CaseVerdict& verdict = result.cases[0];
  const Comparison time = TimeOf(verdict);
  ASSERT_TRUE(time.change) << step;
  const bool worse = verdict.verdict == Verdict::kRegression || verdict.verdict == Verdict::kSuspect;
  if (time.verdict == Verdict::kImproved) {
    EXPECT_EQ(verdict.verdict, Verdict::kImproved) << step << ": " << verdict.headline;
  }
  if (time.verdict == Verdict::kRegression) {
    EXPECT_EQ(verdict.verdict, Verdict::kRegression) << step << ": " << verdict.headline;
  }
  if (*time.change < 0.0) {
    EXPECT_NE(verdict.verdict, Verdict::kRegression) << step << ": " << verdict.headline;
  }
  if (!worse) return;
  const std::string start = verdict.headline.substr(0, 40);
  const bool slower = start.find(" slower") != std::string::npos || start.find(" times as long") != std::string::npos;
  EXPECT_EQ(slower, *time.change > 0.0) << step << ": " << verdict.headline;
  EXPECT_EQ(start.find(" faster") != std::string::npos, *time.change < 0.0) << step << ": " << verdict.headline;
  if (time.verdict >= Verdict::kSuspect) {
    EXPECT_EQ(verdict.headline.find("(unattributed)"), std::string::npos) << step << ": " << verdict.headline;
  }
}

struct Step {
  const char* from;
  const char* to;
  Verdict forwards;
  Verdict backwards;
};

// 3 -> 4, 4 -> 5 and 8 -> 9 gained less than two recordings differ by, with more barriers and instructions.
constexpr Step kSteps[] = {
    {"1-plain", "2-overlap", Verdict::kImproved, Verdict::kRegression},
    {"2-overlap", "3-lazy-rescale", Verdict::kPass, Verdict::kRegression},
    {"3-lazy-rescale", "4-ping-pong", Verdict::kSuspect, Verdict::kSuspect},
    {"4-ping-pong", "5-tma-store", Verdict::kSuspect, Verdict::kRegression},
    {"5-tma-store", "6-persistent", Verdict::kImproved, Verdict::kRegression},
    {"6-persistent", "7-polynomials", Verdict::kRegression, Verdict::kImproved},  // it is slower
    {"7-polynomials", "8-sums", Verdict::kImproved, Verdict::kRegression},        // on another card
    {"8-sums", "9-ping-pong-again", Verdict::kSuspect, Verdict::kSuspect},
    {"1-plain", "8-sums", Verdict::kImproved, Verdict::kRegression},
};

TEST(GateStepsTest, TimeDecidesEachStepOfHopperInBothDirections) {
  for (const Step& step : kSteps) {
    const std::string name = std::string(step.from) + " -> " + step.to;
    const GateResult forwards = JudgeStep(step.from, step.to);
    EXPECT_EQ(forwards.verdict, step.forwards) << name << ": " << forwards.headline;
    ExpectTimeDecides(forwards, name);
    const GateResult backwards = JudgeStep(step.to, step.from);
    EXPECT_EQ(backwards.verdict, step.backwards) << name << ", backwards: " << backwards.headline;
    ExpectTimeDecides(backwards, name + ", backwards");
  }
}

TEST(GateStepsTest, EachSlipIsARegressionAndItsRepairNone) {
  for (const char* const slip : {"barrier", "no-overlap", "no-swizzle", "one-stage", "registers", "unfolded-scale"}) {
    const std::string name = std::string("slip-") + slip;
    const GateResult result = JudgeStep("slip-none", name);
    EXPECT_EQ(result.verdict, Verdict::kRegression) << slip << ": " << result.headline;
    EXPECT_NE(result.headline.find("% slower: "), std::string::npos) << slip << ": " << result.headline;
    ExpectTimeDecides(result, name);
    EXPECT_NE(JudgeStep(name, "slip-none").verdict, Verdict::kRegression) << slip;
  }
  EXPECT_EQ(JudgeStep("slip-none", "slip-none").verdict, Verdict::kPass);
}

TEST(GateStepsTest, BytesThatTmaStoresAreNotCountedAndSoNotBetter) {
  const MetricKey key{"epilogue", "phase_global_bytes"};
  EXPECT_TRUE(Recorded("hopper/4-ping-pong").processes.at(0).values.at(0).contains(key));
  EXPECT_FALSE(Recorded("hopper/5-tma-store").processes.at(0).values.at(0).contains(key));
}

const Evidence& Ladder() {
  static const Evidence ladder = LoadEvidence({FA_PROFILE_BUNDLED_RECORDING});
  return ladder;
}

/// One rung of the ladder at one shape, under a name that all rungs share.
Evidence Rung(std::size_t index) {
  Evidence rung = Ladder();
  rung.cases = {rung.cases[index]};
  rung.cases[0].kernel = "rung";
  for (ProcessSample& process : rung.processes) process.values = {process.values[index]};
  return rung;
}

/// Rungs by kernel, at the first shape that has it.
Evidence Rung(const std::string& kernel) {
  const auto found = std::ranges::find(Ladder().cases, kernel, &CaseFacts::kernel);
  return Rung(static_cast<std::size_t>(found - Ladder().cases.begin()));
}

TEST(GateStepsTest, TimeDecidesEachStepOfTheLadderInBothDirections) {
  std::map<std::string, std::vector<std::size_t>> shapes;  // not cublas, whose code redact removed
  for (std::size_t i = 0; i < Ladder().cases.size(); ++i) {
    const CaseFacts& facts = Ladder().cases[i];
    if (!facts.code.empty()) shapes[facts.shape].push_back(i);
  }
  for (const auto& [shape, rungs] : shapes) {
    ASSERT_EQ(rungs.size(), 7U) << shape;
    for (std::size_t step = 0; step + 1 < rungs.size(); ++step) {
      for (const auto& [from, to] :
           {std::pair(rungs[step], rungs[step + 1]), std::pair(rungs[step + 1], rungs[step])}) {
        const std::string name = CaseName(Ladder().cases[from]) + " -> " + CaseName(Ladder().cases[to]);
        const GateResult result = JudgeStep(Rung(from), Rung(to));
        ExpectTimeDecides(result, name);
        const double change = TimeOf(result.cases.at(0)).change.value_or(0.0);
        EXPECT_GT(std::abs(change), 0.06) << name << ": no two rungs take the same time";
        EXPECT_EQ(result.verdict, change < 0.0 ? Verdict::kImproved : Verdict::kRegression)
            << name << ": " << result.headline;
      }
    }
  }
}

TEST(GateStepsTest, ACallWhoseCodeWasRemovedIsIncompleteAndItsTimeStillDecides) {
  const Evidence removed = Rung("cublas");
  Evidence whole = removed;
  whole.cases[0].code = Rung("tiled").cases.at(0).code;
  const GateResult incomplete = JudgeStep(whole, removed);
  EXPECT_EQ(incomplete.verdict, Verdict::kInconclusive);
  EXPECT_NE(incomplete.headline.find("no machine code in the candidate"), std::string::npos) << incomplete.headline;
  EXPECT_EQ(std::ranges::count_if(incomplete.notes,
                                  [](const std::string& note) {
                                    return note.find("no machine code of cublas in the recording: code removed") !=
                                           std::string::npos;
                                  }),
            2)
      << "once a side";
  EXPECT_EQ(JudgeStep(removed, removed).verdict, Verdict::kPass);
  EXPECT_EQ(JudgeStep(removed, whole).verdict, Verdict::kPass) << "counters and time are compared";
  EXPECT_EQ(JudgeStep(Rung("mma"), removed).verdict, Verdict::kRegression) << "it is slower";
}

}  // namespace
}  // namespace fa_profile::gate::gate_steps_test
