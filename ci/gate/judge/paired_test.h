#pragma once

#include <span>
#include <vector>

#include "fa_profile/gate_statistics.h"

namespace fa_profile::gate {

/// Level at which a candidate is called faster. One stage suffices: the verdict blocks nothing.
inline constexpr double kImprovedLevel = 0.01;

/// Values of one comparison, a block for each pair: logarithms for a kernel, shares of its time for a phase. More is
/// worse. `limit` is on the same scale.
struct PairedDifferences {
  std::vector<ProcessBlock> first;   ///< stage 1
  std::vector<ProcessBlock> second;  ///< stage 2: new pairs, measured because stage 1 was suspect
  double limit = 0.0;
};

/// WorseBy() of each block.
std::vector<double> Differences(std::span<const ProcessBlock> blocks);

/// The result of one stage.
struct StageDecision {
  int pairs = 0;
  double least_p = 1.0;   ///< LeastP()
  bool enough = false;    ///< the pairs can reach the level: LeastP() <= level
  double worse_p = 1.0;   ///< for "worse by at most the limit"
  double better_p = 1.0;  ///< for "better by at most the limit"
  bool worse = false;     ///< worse_p <= level
  bool better = false;    ///< better_p <= kImprovedLevel
};

/// One-sided exact permutation tests of one stage. Values finite.
StageDecision DecideStage(std::span<const ProcessBlock> blocks, double limit, double level);

/// The result of the second stage.
struct Confirmation {
  StageDecision stage;      ///< from the second stage's pairs alone; `worse` without Holm
  double p_adjusted = 1.0;  ///< Holm, over all comparisons; with a capped factor
  bool enough = false;      ///< the pairs can reach the level: LeastP() <= level
  bool confirmed = false;   ///< p_adjusted <= level
};

/// Tests the second stage of all suspects, corrected over all of them. Their pairs are new, so the selection of
/// suspects does not bias them. Without pairs: not enough, p 1. Holm's factor is capped at floor(level / LeastP()),
/// what the pairs can show: 163 for 14 pairs at 1 %, 47,829 with a control. Without the cap, a build that slows down
/// more comparisons than this could not be confirmed in any of them, however large the slowdown. So many at once are
/// not chance: one comparison of equal code in twenty is suspect, and all its new pairs are then beyond the limit with
/// probability LeastP(). The price: with `m` > cap suspects of equal code one is confirmed with a probability of up to
/// m * LeastP() instead of `level`.
std::vector<Confirmation> Confirm(const std::vector<const PairedDifferences*>& suspects, double level);

}  // namespace fa_profile::gate
