#include "inference/key_tile.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attention_code.h"
#include "fa_profile/infer_phases.h"

namespace fa_profile::analyze::key_tile_test {
namespace {

InferredPhases InferredOf(const std::vector<Line>& lines) {
  InferredPhases inferred = InferPhases(MakeFunction(lines));
  EXPECT_EQ(inferred.refusal, "");
  return inferred;
}

TEST(KeyTileTest, CountsTheSoftmaxOfOneTile) {
  const KeyTile tile = InferredOf(MmaAttention()).tile.value();
  EXPECT_EQ(tile.softmax_instructions, 11) << "lines 17 to 27";
  EXPECT_EQ(tile.exponentials, 3.0);
  EXPECT_EQ(tile.rescale, "every tile");
  EXPECT_TRUE(tile.rounds_known);
  EXPECT_FALSE(tile.overlaps_exponentials.has_value()) << "mma.sync waits for its result";
}

TEST(KeyTileTest, RescalingUnderAConditionIsOfSomeTiles) {
  std::vector<Line> lines = MmaAttention();
  lines[28].predicate = "@P3";
  lines[29].predicate = "@P3";
  EXPECT_EQ(InferredOf(lines).tile->rescale, "some tiles");
  std::vector<Line> branch = MmaAttention();  // around the rescaling, and nothing else
  branch.insert(branch.begin() + 28, {"@P3", "BRA", "0x1f0", {}});
  EXPECT_EQ(InferredOf(branch).tile->rescale, "some tiles");
  std::vector<Line> left_out = MmaAttention();  // around the whole tile
  left_out[15] = {"@P3", "BRA", "0x1f0", {}};
  EXPECT_EQ(InferredOf(left_out).tile->rescale, "every tile");
  std::vector<Line> never = MmaAttention();
  never[28] = {"", "NOP", "", {}};
  never[29] = {"", "NOP", "", {}};
  EXPECT_EQ(InferredOf(never).tile->rescale, "never");
}

TEST(KeyTileTest, CountsEveryRoundOfALoopInTheTile) {
  std::vector<Line> lines = RolledAttention("ISETP.NE.AND", "R60, 0x4");
  const KeyTile tile = InferredOf(lines).tile.value();
  EXPECT_EQ(tile.exponentials, 3.0);
  // One of the exponentials in the loop of four rounds.
  lines[19] = {"", "MUFU.EX2", "R17, R17", {"softmax()"}};
  lines.insert(lines.begin() + 20, {"", "HMMA.16816.F32", "R16, R8, R12, R16", {"qk()"}});
  EXPECT_EQ(InferPhases(MakeFunction(lines)).tile->exponentials, 7.0);
}

TEST(KeyTileTest, TellsWhetherProductsRunWhileExponentialsAreComputed) {
  std::vector<Line> lines = WarpgroupAttention();
  EXPECT_EQ(InferredOf(lines).tile->overlaps_exponentials, false);
  lines[22].operands = "gsb0, 0x1";  // O = P V may still run in the next round
  EXPECT_EQ(InferredOf(lines).tile->overlaps_exponentials, false) << "the wait for S ends it";
  lines[14].operands = "gsb0, 0x1";
  EXPECT_EQ(InferredOf(lines).tile->overlaps_exponentials, true);
}

TEST(KeyTileTest, ExponentialsPerScoreTellsWhatIsComputedAgain) {
  // One instruction begins 16 x 8 scores of a warp, four a thread; 3 exponentials.
  EXPECT_DOUBLE_EQ(InferredOf(MmaAttention()).checks.exponentials_per_score.value(), 0.75);
  std::vector<Line> lines = MmaAttention();
  lines.insert(lines.begin() + 25, 5, {"", "MUFU.EX2", "R17, R17", {"softmax()"}});
  EXPECT_DOUBLE_EQ(InferredOf(lines).checks.exponentials_per_score.value(), 2.0);
  EXPECT_FALSE(InferredOf(RolledAttention("ISETP.NE.AND", "R60, 0x4")).checks.exponentials_per_score.has_value())
      << "the loop hides how many scores there are";
}

}  // namespace
}  // namespace fa_profile::analyze::key_tile_test
