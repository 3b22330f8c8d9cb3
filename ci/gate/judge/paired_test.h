#pragma once

#include <span>
#include <vector>

namespace fa_profile {

/// A test of this many pairs counts over 2^n flips; more pairs of a stage than that are not looked at.
inline constexpr std::size_t kMostPairs = 24;

/// Level at which a candidate is called faster. One stage is enough: nobody is blocked by it.
inline constexpr double kImprovedLevel = 0.01;

/// Differences of one comparison, one a pair, candidate against base: logarithms of ratios for a kernel, points of its
/// time for a phase. Above 0 is worse. `limit` is on the same scale: worse by no more than it is no regression.
struct PairedDifferences {
  std::vector<double> first;   ///< of stage 1
  std::vector<double> second;  ///< of stage 2, new pairs measured because stage 1 was suspect
  double limit = 0.0;
};

/// What the pairs of one stage say.
struct StageDecision {
  int pairs = 0;
  bool enough = false;    ///< so many pairs can reach the level at all: 2^-pairs <= level
  double worse_p = 1.0;   ///< of "worse by at most the limit"
  double better_p = 1.0;  ///< of "better by at most the limit"
  bool worse = false;     ///< worse_p <= level
  bool better = false;    ///< better_p <= kImprovedLevel
};

/// One-sided exact sign-flip tests of one stage. `differences` finite.
StageDecision DecideStage(std::span<const double> differences, double limit, double level);

/// The last word on what was suspect.
struct Confirmation {
  StageDecision stage;      ///< of the second stage's pairs alone; `worse` without Holm
  double p_adjusted = 1.0;  ///< Holm, over all comparisons given; the factor capped
  bool enough = false;      ///< the level can be reached with so many pairs: 2^-pairs <= level
  bool confirmed = false;   ///< p_adjusted <= level
};

/// Tests the second stage of everything that was suspect in the first, corrected over all of them. The pairs are new,
/// so that how the suspects were chosen does not matter. Without pairs: not enough, p 1.
/// Holm's factor is at most floor(level * 2^pairs), what the pairs can show: of 14 pairs 163 at 1 %. Without that cap a
/// build that slows down more comparisons than this could not be confirmed in any of them, however large the slowdown.
/// So many at once are no chance: one comparison of equal code is suspect in twenty, and then has all its new pairs
/// beyond the limit in one of 2^pairs. The price: of `m` > cap suspects of equal code one is confirmed with a
/// probability of up to m * 2^-pairs instead of `level`.
std::vector<Confirmation> Confirm(const std::vector<const PairedDifferences*>& suspects, double level);

}  // namespace fa_profile
