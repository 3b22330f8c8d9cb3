#include "paired_test.h"

#include <algorithm>
#include <cmath>

#include "fa_profile/gate_statistics.h"

namespace fa_profile {
namespace {

/// The least p of so many pairs.
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
  std::vector<double> p;
  std::vector<std::size_t> measured;  // what was not measured again is no test, and weakens none
  for (std::size_t i = 0; i < suspects.size(); ++i) {
    confirmations[i].stage = DecideStage(suspects[i]->second, suspects[i]->limit, level);
    if (confirmations[i].stage.pairs == 0) continue;
    p.push_back(confirmations[i].stage.worse_p);
    measured.push_back(i);
  }
  const std::vector<double> adjusted = HolmAdjust(p);
  for (std::size_t k = 0; k < measured.size(); ++k) {
    Confirmation& confirmation = confirmations[measured[k]];
    confirmation.p_adjusted = adjusted[k];
    confirmation.enough = LeastP(confirmation.stage.pairs) * static_cast<double>(measured.size()) <= level;
    confirmation.confirmed = adjusted[k] <= level;
  }
  return confirmations;
}

}  // namespace fa_profile
