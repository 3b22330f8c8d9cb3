#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "attention_code.h"
#include "choose_phases.h"
#include "finding_rules.h"
#include "findings_fixture.h"

namespace fa_profile::analyze::inferred_findings_test {
namespace {

using Shares = std::map<std::string, double>;

/// The findings of a kernel with this machine code, whose phases take these shares of the time.
std::vector<Finding> FindingsOf(const std::vector<Line>& lines, const Shares& shares, double tensor_active = 0.3,
                                const std::map<std::string, double>& softmax = {}) {
  const DeviceFunction function = MakeFunction(lines);
  ChosenPhases chosen = ChoosePhases({&function}, std::nullopt, PhaseSource::kCode, nullptr, nullptr);
  EXPECT_EQ(chosen.inference->refusal, "");
  ProfileEntry entry = Healthy();
  entry.shape.reset();
  entry.metrics["tensor_core_utilization_ratio"] = tensor_active;
  entry.phases->attribution = chosen.attribution;
  entry.phases->inference = chosen.inference;
  entry.phases->phases.clear();
  for (const auto& [name, share] : shares) {
    entry.phases->phases.push_back(Phase(name, share, name == "softmax" ? softmax : std::map<std::string, double>{}));
  }
  return FindProblems(entry, H200());
}

constexpr const char* kSaysSo = "; the phase is inferred from machine code";

void ExpectFires(const std::vector<Finding>& findings, const char* id, const char* phase, const char* evidence) {
  const Finding* const finding = Find(findings, id);
  ASSERT_NE(finding, nullptr) << id;
  EXPECT_EQ(finding->phase, phase);
  EXPECT_NE(finding->evidence.find(evidence), std::string::npos) << finding->evidence;
  EXPECT_TRUE(finding->evidence.ends_with(kSaysSo)) << finding->evidence;
}

const Shares kEven = {{"qk", 0.3}, {"softmax", 0.35}, {"pv", 0.3}, {"rescale", 0.04}};

TEST(InferredFindingsTest, AKernelInOrderHasNone) {
  const auto findings = FindingsOf(MmaAttention(), kEven);
  for (const char* const id :
       {"softmax-bound", "exponentials-again", "rescale-every-tile", "no-overlap", "setup-bound"}) {
    EXPECT_EQ(Find(findings, id), nullptr) << id;
  }
}

TEST(InferredFindingsTest, SoftmaxBound) {
  const Shares shares = {{"qk", 0.2}, {"softmax", 0.5}, {"pv", 0.2}};
  ExpectFires(FindingsOf(MmaAttention(), shares), "softmax-bound", "softmax",
              "qk and pv 40 %; a tile of keys has 11 instructions of softmax and 3 exponentials a thread");
  EXPECT_EQ(Find(FindingsOf(MmaAttention(), {{"qk", 0.25}, {"softmax", 0.45}, {"pv", 0.25}}), "softmax-bound"), nullptr)
      << "the products take longer";
  EXPECT_EQ(Find(FindingsOf(MmaAttention(), {{"qk", 0.2}, {"softmax", 0.39}, {"pv", 0.1}}), "softmax-bound"), nullptr);
}

TEST(InferredFindingsTest, ExponentialsAgain) {
  std::vector<Line> lines = MmaAttention();
  lines.insert(lines.begin() + 25, 4, {"", "MUFU.EX2", "R17, R17", {"softmax()"}});
  ExpectFires(FindingsOf(lines, kEven), "exponentials-again", "softmax", "1.8 exponentials for each score, 9 multiply");
  EXPECT_EQ(Find(FindingsOf(lines, kEven, 0.3, {{"phase_threads_per_instruction", 4.0}}), "exponentials-again"),
            nullptr)
      << "code of one thread";
  EXPECT_EQ(Find(FindingsOf(lines, {{"qk", 0.9}, {"softmax", 0.04}}), "exponentials-again"), nullptr);
  lines.erase(lines.begin() + 25, lines.begin() + 27);
  EXPECT_EQ(Find(FindingsOf(lines, kEven), "exponentials-again"), nullptr) << "1.25 for each score";
}

TEST(InferredFindingsTest, ExponentialsAgainByTheShapeWhereTheCodeHidesTheScores) {
  ProfileEntry entry = Healthy();  // head_dim 64
  entry.phases->attribution = kInferredPhasesName;
  entry.phases->inference.emplace().multiply_adds_per_exponential = 42.6;
  ExpectFires(FindProblems(entry, H200()), "exponentials-again", "softmax", "1.5 exponentials for each score");
  entry.phases->inference->multiply_adds_per_exponential = 43.0;
  EXPECT_EQ(Find(FindProblems(entry, H200()), "exponentials-again"), nullptr);
}

TEST(InferredFindingsTest, RescaleEveryTile) {
  const Shares shares = {{"qk", 0.3}, {"softmax", 0.3}, {"pv", 0.3}, {"rescale", 0.05}};
  ExpectFires(FindingsOf(MmaAttention(), shares), "rescale-every-tile", "rescale", "in every tile of keys");
  std::vector<Line> sometimes = MmaAttention();
  sometimes[28].predicate = "@P3";
  sometimes[29].predicate = "@P3";
  EXPECT_EQ(Find(FindingsOf(sometimes, shares), "rescale-every-tile"), nullptr);
}

TEST(InferredFindingsTest, NoOverlap) {
  const std::vector<Line> waits = WarpgroupAttention();
  ExpectFires(FindingsOf(waits, kEven), "no-overlap", "softmax", "each product is waited for");
  EXPECT_EQ(Find(FindingsOf(waits, kEven, 0.6), "no-overlap"), nullptr) << "another warpgroup fills the tensor pipe";
  EXPECT_EQ(Find(FindingsOf(waits, {{"qk", 0.5}, {"softmax", 0.19}}), "no-overlap"), nullptr);
  std::vector<Line> overlaps = WarpgroupAttention();
  overlaps[14].operands = "gsb0, 0x1";
  overlaps[22].operands = "gsb0, 0x1";
  EXPECT_EQ(Find(FindingsOf(overlaps, kEven), "no-overlap"), nullptr);
  EXPECT_EQ(Find(FindingsOf(MmaAttention(), kEven), "no-overlap"), nullptr) << "mma.sync is not asynchronous";
}

TEST(InferredFindingsTest, SetupBound) {
  ExpectFires(FindingsOf(MmaAttention(), {{"qk", 0.4}, {"softmax", 0.2}, {"setup", 0.2}}), "setup-bound", "setup",
              "before the loop over keys");
  EXPECT_EQ(Find(FindingsOf(MmaAttention(), {{"qk", 0.4}, {"softmax", 0.2}, {"setup", 0.19}}), "setup-bound"), nullptr);
}

TEST(InferredFindingsTest, RulesOfPhasesWorkOnInferredOnesAndSaySo) {
  const auto serial = FindingsOf(MmaAttention(), kEven, 0.3, {{"phase_threads_per_instruction", 1.0}});
  ExpectFires(serial, "serial-softmax", "softmax", "with 1.0 of 32 threads");
  const auto conflicts =
      FindingsOf(MmaAttention(), kEven, 0.3, {{"phase_bank_conflict_ratio", 0.5}, {"phase_shared_wavefronts", 100.0}});
  ExpectFires(conflicts, "bank-conflicts", "softmax", "shared-memory wavefronts in softmax repeat an access");
}

TEST(InferredFindingsTest, NamedPhasesDoNotFireRulesOfInferredOnes) {
  ProfileEntry entry = Healthy();
  entry.phases->phases = {Phase("softmax", 0.5), Phase("setup", 0.3), Phase("rescale", 0.2)};
  for (const char* const id : {"softmax-bound", "rescale-every-tile", "setup-bound"}) {
    EXPECT_EQ(Find(FindProblems(entry, H200()), id), nullptr) << id;
  }
}

}  // namespace
}  // namespace fa_profile::analyze::inferred_findings_test
