#pragma once

#include <vector>

namespace fa_profile::gate {

/// What the processes of a pair measure: the base, the candidate, and the base again as the run's control.
enum class PairArm { kBase, kCandidate, kControl };

/// The order of the three arms of a pair. Every two successive orders are mirror images: in an even number of pairs
/// each arm precedes each other one in half of them. In six pairs each arm has each position equally often, and each
/// arm follows each other one equally often.
std::vector<PairArm> ArmOrder(int pair);

}  // namespace fa_profile::gate
