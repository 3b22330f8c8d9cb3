#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "inference/memory.h"
#include "inference/operands.h"
#include "inference/step_budget.h"
#include "inference/values.h"

namespace fa_profile::analyze {

/// How far along the path through attention a value is. Every forward kernel multiplies two loaded things into scores,
/// takes exponentials of scores, and multiplies these with something loaded: so a value's rank shows where it belongs.
/// Ranks pass through data, never through addresses or predicates.
enum class Rank : std::uint8_t {
  kNone,         ///< constants, indices, parameters
  kGlobal,       ///< loaded from global memory, or made from that
  kPartial,      ///< a sum of products of two loaded values, on its way to a score
  kScore,        ///< a score, a maximum of scores
  kExponential,  ///< an exponential, a sum of exponentials
  kOutput,       ///< made from exponentials times loaded values
};

/// What an instruction computes, by the ranks of its operands.
enum class Computes : std::uint8_t {
  kNothing,
  kQk,           ///< loaded x loaded, reaching an exponential
  kPv,           ///< exponential x loaded
  kRescale,      ///< output x exponential
  kScale,        ///< output x anything else
  kSoftmax,      ///< arithmetic on scores and exponentials
  kExponential,  ///< MUFU.EX2
};

struct Ranks {
  std::vector<Rank> rank;          ///< by value
  std::vector<Computes> computes;  ///< by instruction
  /// By instruction: a product of two loaded values that reaches no exponential.
  std::vector<bool> reaches_no_exponential;
  bool has_any_maximum = false;      ///< an exponential is made from a maximum of two values
  bool has_running_maximum = false;  ///< an exponential is made from a maximum of scores, as in softmax
};

/// Iterates to a fixed point. Incomplete when `budget` is exhausted.
Ranks FindRanks(const DeviceFunction& function, const std::vector<Operands>& operands, const Values& values,
                const Memory& memory, StepBudget& budget);

}  // namespace fa_profile::analyze
