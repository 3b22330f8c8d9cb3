#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "inference/phases_of_code.h"

namespace fa_profile::analyze {

/// What the inferred phases are checked against. `executed` may be empty.
InferenceChecks CheckPhases(const CodeFacts& code, const std::vector<double>& executed, StepBudget& budget);

/// Whether an exponential before the last product is made from the output: the contents of shared memory were confused.
bool ExponentialOfOutput(const CodeFacts& code);

/// Why phases are not to be believed: as one of InferredPhases' words, and as a sentence. Both empty if they are.
struct Refusal {
  std::string_view word;
  std::string why;
};

/// The check that fails; empty if the phases may be believed: a key loop holds both products, an exponential is between
/// them, no matrix instruction is unassigned, and multiply-adds of QK and PV are within 2 % of each other, or of the
/// ratio of two head dims that are in use and that the number of exponentials confirms.
Refusal FailedCheck(const CodeFacts& code, const InferenceChecks& checks, StepBudget& budget);

/// For code without exponentials: "gemm" with matrix instructions, "other" without.
Refusal WithoutExponentials(const std::vector<Operands>& operands);

}  // namespace fa_profile::analyze
