#include "paired_test.h"

#include <algorithm>
#include <cmath>

#include "fa_profile/gate_statistics.h"

namespace fa_profile::gate {
std::vector<double> Differences(std::span<const ProcessBlock> blocks) {
  std::vector<double> differences(blocks.size());
  std::ranges::transform(blocks, differences.begin(), WorseBy);
  return differences;
}

StageDecision DecideStage(std::span<const ProcessBlock> blocks, double limit, double level) {
  blocks = blocks.first(std::min(blocks.size(), kMostBlocks));
  StageDecision decision;
  if (blocks.empty()) return decision;
  std::vector<ProcessBlock> mirrored(blocks.size());
  std::ranges::transform(blocks, mirrored.begin(), Mirrored);
  decision.pairs = static_cast<int>(blocks.size());
  decision.least_p = LeastP(blocks);
  decision.enough = decision.least_p <= level;
  decision.worse_p = PermutationP(blocks, limit);
  decision.better_p = PermutationP(mirrored, limit);
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
    caps.push_back(std::max(1.0, std::floor(level / stage.least_p)));
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
