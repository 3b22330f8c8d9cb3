#include "fa_profile/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "attention_reference.h"
#include "fa_profile/error.h"
#include "rungs.h"
#include "test_files.h"

namespace fa_profile::kernels_test {
namespace {

TEST(LadderTest, HasEveryRungsFileInOrder) {
  std::map<int, std::string> rungs;
  for (const Kernel* kernel : Ladder()) {
    rungs[kernel->rung()] = kernel->id();
    EXPECT_EQ(kernel->rung(), static_cast<int>(rungs.size()));
    EXPECT_EQ(kernel->origin(), "ladder");
    EXPECT_FALSE(kernel->teaches().empty());
    EXPECT_FALSE(kernel->phases().empty());
  }
  EXPECT_EQ(rungs, RungsOfFiles(FA_PROFILE_SOURCE));
  EXPECT_GE(rungs.size(), 7U);
}

TEST(LadderTest, TheDocsHaveASectionForEveryRungAndForNoOther) {
  std::ifstream docs(FA_PROFILE_SOURCE "/docs/kernels.md");
  std::vector<std::string> sections;
  for (std::string line; std::getline(docs, line);) {
    if (line.starts_with("## Rung ")) sections.push_back(line);
  }
  std::vector<std::string> expected;
  for (const Kernel* kernel : Ladder()) {
    expected.push_back("## Rung " + std::to_string(kernel->rung()) + ": `" + kernel->id() + "`");
  }
  EXPECT_EQ(sections, expected);
}

TEST(LadderTest, TheVariantsOfRung3AreNotOnIt) {
  ASSERT_EQ(TiledVariants().size(), 3U);
  for (const Kernel* variant : TiledVariants()) {
    EXPECT_EQ(variant->rung(), 3);
    for (const Kernel* kernel : Ladder()) EXPECT_NE(variant->id(), kernel->id());
  }
}

TEST(LadderTest, EveryRungAcceptsTheWholeSuite) {
  for (const Kernel* kernel : Ladder()) {
    for (const SuiteShape& entry : CorrectnessSuite()) {
      EXPECT_EQ(kernel->WhyNot(entry.shape), "") << kernel->id() << " " << entry.shape.ToString();
    }
  }
}

TEST(LadderTest, AnUnsupportedHeadDimensionIsRefusedAndTheSupportedOnesAreListed) {
  for (const Kernel* kernel : Ladder()) {
    for (const int head_dim : {1, 63, 80, 96, 256}) {
      const std::string why = kernel->WhyNot({1, 8, 512, head_dim, false});
      EXPECT_TRUE(Contains(why, "64 or 128")) << kernel->id();
      EXPECT_TRUE(Contains(why, std::to_string(head_dim))) << kernel->id();
    }
  }
}

TEST(LadderTest, AWorkloadOfARefusedShapeIsAnErrorThatNamesKernelAndShape) {
  for (const Kernel* kernel : Ladder()) {
    try {
      kernel->MakeWorkload({1, 8, 512, 96, false}, 1);
      FAIL() << kernel->id();
    } catch (const Error& error) {
      EXPECT_TRUE(Contains(error.message(), kernel->id()));
      EXPECT_TRUE(Contains(error.message(), "1,8,512,96"));
    }
  }
}

TEST(CorrectnessSuiteTest, DrawsTheMissionShapeAHundredTimesCausalAndNot) {
  std::set<std::pair<bool, int>> mission;
  for (const SuiteShape& entry : CorrectnessSuite()) {
    AttentionShape shape = entry.shape;
    shape.causal = false;
    if (shape == AttentionShape{1, 8, 512, 64, false}) mission.insert({entry.shape.causal, entry.draws});
  }
  EXPECT_EQ(mission, (std::set<std::pair<bool, int>>{{false, 100}, {true, 100}}));
}

TEST(ReferenceTest, ASingleKeyReturnsItsValue) {
  const std::vector<float> v = {0.5F, -2.0F};
  const std::vector<float> q = {3.0F, 4.0F};
  EXPECT_EQ(AttentionReference({1, 1, 1, 2, false}, q, q, v), (std::vector<double>{0.5, -2.0}));
}

// Two queries, two keys, head_dim 1: scores are q*k, so weights are logistic functions of q*(k1-k0).
TEST(ReferenceTest, WeighsTwoKeysAsComputedByHand) {
  const std::vector<float> q = {1.0F, 2.0F};
  const std::vector<float> k = {0.0F, 1.0F};
  const std::vector<float> v = {10.0F, 20.0F};
  const auto expected = [](double score) { return 10.0 + 10.0 / (1.0 + std::exp(-score)); };
  const std::vector<double> all = AttentionReference({1, 1, 2, 1, false}, q, k, v);
  EXPECT_NEAR(all[0], expected(1.0), 1e-12);
  EXPECT_NEAR(all[1], expected(2.0), 1e-12);
  const std::vector<double> causal = AttentionReference({1, 1, 2, 1, true}, q, k, v);
  EXPECT_EQ(causal[0], 10.0);
  EXPECT_NEAR(causal[1], expected(2.0), 1e-12);
}

TEST(ReferenceTest, ScalesByTheRootOfTheHeadDimensionAndKeepsHeadsApart) {
  // head_dim 4, two heads of two tokens: q.k = 4 for key 1, 0 for key 0, so the scaled score is 2.
  const std::vector<float> q(16, 1.0F);
  const std::vector<float> k = {0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1};
  const std::vector<float> v = {0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 5, 5, 5, 5};
  const std::vector<double> out = AttentionReference({1, 2, 2, 4, false}, q, k, v);
  const double weight = 1.0 / (1.0 + std::exp(-2.0));
  EXPECT_NEAR(out[0], weight, 1e-12);
  EXPECT_NEAR(out[8], 5.0 * weight, 1e-12);
}

TEST(ReferenceTest, ATensorOfAnotherSizeIsAnError) {
  const std::vector<float> small(3);
  EXPECT_THROW(AttentionReference({1, 1, 2, 2, false}, small, small, small), Error);
}

}  // namespace
}  // namespace fa_profile::kernels_test
