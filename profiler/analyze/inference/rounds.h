#pragma once

#include <optional>
#include <vector>

#include "fa_profile/recording.h"
#include "inference/flow.h"
#include "inference/operands.h"
#include "inference/ranks.h"
#include "inference/step_budget.h"
#include "inference/values.h"

namespace fa_profile::analyze {

/// How many rounds each of flow.loops takes, by loop. Known only for counted loops: one exit, taken or not in every
/// round by comparing a register with a constant, where the register begins as a constant and a constant is added to it
/// in every round. Nothing for all others, and for more than 65,536 rounds.
std::vector<std::optional<double>> ReadRounds(const DeviceFunction& function, const std::vector<Operands>& operands,
                                              const Flow& flow, const Values& values, StepBudget& budget);

/// How often instructions run in one round of the loops that hold both products: the rounds of the other loops around
/// them. So a product in a loop of four rounds weighs as much as one that is unrolled four times.
struct StaticRounds {
  std::vector<double> times;       ///< by instruction; unknown rounds count as one
  bool products_known = true;      ///< false: a loop around products of one kind has an unknown number of rounds
  bool exponentials_known = true;  ///< the same for loops around exponentials
  std::vector<bool> is_outer;      ///< by loop: it holds both products
  std::vector<bool> is_unknown;    ///< by loop: it holds one kind of product, or exponentials, for unknown rounds
};

StaticRounds CountRounds(const Flow& flow, const std::vector<std::optional<double>>& rounds, const Ranks& ranks,
                         StepBudget& budget);

}  // namespace fa_profile::analyze
