#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fa_profile/shape.h"

namespace fa_profile {

/// One phase as the code's functions name it and as it is inferred from machine code. Shares are of what is compared.
struct ComparedPhase {
  std::string phase;
  std::optional<double> named_ratio;
  std::optional<double> inferred_ratio;
  std::optional<double> difference;  ///< inferred less named: 0.01 is a point
  std::optional<double> same_ratio;  ///< of what is named so, the share that is inferred so too
};

/// What is named one way and inferred another.
struct PhaseSwap {
  std::string named;
  std::string inferred;
  double ratio = 0.0;  ///< of what is compared
};

/// Named and inferred phases of one function in one measured call, side by side.
///
/// Compared are samples of warps that wait at no barrier (without samples, executed instructions), at instructions
/// that a phase function holds; where nothing is named or nothing is inferred, at all instructions.
struct PhaseComparison {
  std::string kernel;
  std::optional<Shape> shape;
  std::string part;
  std::string function;               ///< demangled; empty when no function was measured
  std::string missing;                ///< why there is nothing to compare, in words: no machine code; empty: there is
  std::string unnamed;                ///< why no phase is named; empty: some are
  std::string refusal;                ///< the check that refused to infer phases; empty: they were inferred
  std::string weighed_by;             ///< "samples", "executed instructions"
  std::vector<ComparedPhase> phases;  ///< the largest share first
  std::optional<double> named_ratio;  ///< of all weight, what a phase function holds
  std::optional<double> same_ratio;   ///< of what is compared, what has the same name both ways
  std::optional<double> largest_error_ratio;  ///< the largest difference of a phase's share
  std::string largest_error_phase;
  std::vector<PhaseSwap> swaps;  ///< the largest first
};

}  // namespace fa_profile
