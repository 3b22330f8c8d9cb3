#include "paired_test.h"

#include <algorithm>
#include <cmath>

#include "fa_profile/gate_statistics.h"

namespace fa_profile {
namespace {

/// The least p that this number of pairs can give.
double LeastP(int pairs) { return std::ldexp(1.0, -pairs); }

std::span<const double> Looked(std::span<const double> differences) {
  return differences.first(std::min(differences.size(), kMostPairs));
}

/// p of "sign times the differences are at most the limit".
double BeyondP(std::span<const double> differences, double sign, double limit) {
  std::vector<double> beyond(differences.size());
  std::ranges::transform(differences, beyond.begin(), [&](double value) { return sign * value - limit; });
  return SignFlipP(beyond);
}

}  // namespace

StageDecision DecideStage(std::span<const double> differences, double limit, double level) {
  differences = Looked(differences);
  StageDecision decision;
  if (differences.empty()) return decision;
  decision.pairs = static_cast<int>(differences.size());
  decision.enough = LeastP(decision.pairs) <= level;
  decision.worse_p = BeyondP(differences, 1.0, limit);
  decision.better_p = BeyondP(differences, -1.0, limit);
  decision.worse = decision.worse_p <= level;
  decision.better = decision.better_p <= kImprovedLevel;
  return decision;
}

std::vector<Confirmation> Confirm(const std::vector<const PairedDifferences*>& suspects, double level) {
  std::vector<Confirmation> confirmations(suspects.size());
  std::vector<std::size_t> measured;  // a suspect without new pairs does not count as a test
  for (std::size_t i = 0; i < suspects.size(); ++i) {
    confirmations[i].stage = DecideStage(suspects[i]->second, suspects[i]->limit, level);
    if (confirmations[i].stage.pairs == 0) continue;
    measured.push_back(i);
  }
  std::ranges::stable_sort(measured, {}, [&](std::size_t i) { return confirmations[i].stage.worse_p; });
  double largest = 0.0;  // a larger p is never adjusted to less than a smaller one
  for (std::size_t rank = 0; rank < measured.size(); ++rank) {
    Confirmation& confirmation = confirmations[measured[rank]];
    const StageDecision& stage = confirmation.stage;
    // Holm's factor, capped at what this number of pairs can show: see Confirm().
    const double most = std::max(1.0, std::floor(level / LeastP(stage.pairs)));
    const double factor = std::min(static_cast<double>(measured.size() - rank), most);
    largest = std::max(largest, std::min(1.0, factor * stage.worse_p));
    confirmation.p_adjusted = largest;
    confirmation.enough = stage.enough;
    confirmation.confirmed = largest <= level;
  }
  return confirmations;
}

}  // namespace fa_profile
