#include "paired_test.h"

#include <algorithm>
#include <cmath>

#include "fa_profile/gate_statistics.h"

namespace fa_profile::gate {
namespace {

/// The least p that this number of pairs can give.
double LeastP(int pairs) { return std::ldexp(1.0, -pairs); }

/// p of "sign times the differences are at most the limit".
double BeyondP(std::span<const double> differences, double sign, double limit) {
  std::vector<double> beyond(differences.size());
  std::ranges::transform(differences, beyond.begin(), [&](double value) { return sign * value - limit; });
  return SignFlipP(beyond);
}

}  // namespace

StageDecision DecideStage(std::span<const double> differences, double limit, double level) {
  differences = differences.first(std::min(differences.size(), kMostDifferences));
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
  std::vector<Confirmation*> measured;  // a suspect without new pairs does not count as a test
  std::vector<double> p;
  std::vector<double> caps;  // what this number of pairs can show: see Confirm()
  for (std::size_t i = 0; i < suspects.size(); ++i) {
    const StageDecision stage = DecideStage(suspects[i]->second, suspects[i]->limit, level);
    confirmations[i].stage = stage;
    if (stage.pairs == 0) continue;
    measured.push_back(&confirmations[i]);
    p.push_back(stage.worse_p);
    caps.push_back(std::max(1.0, std::floor(level / LeastP(stage.pairs))));
  }
  const std::vector<double> adjusted = HolmAdjust(p, caps);
  for (std::size_t i = 0; i < measured.size(); ++i) {
    measured[i]->p_adjusted = adjusted[i];
    measured[i]->enough = measured[i]->stage.enough;
    measured[i]->confirmed = adjusted[i] <= level;
  }
  return confirmations;
}

}  // namespace fa_profile::gate
