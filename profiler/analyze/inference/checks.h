#pragma once

#include <string>
#include <vector>

#include "inference/phases_of_code.h"

namespace fa_profile::analyze {

/// What the inferred phases are held against. `executed` may be empty.
InferenceChecks CheckPhases(const CodeFacts& code, const std::vector<double>& executed);

/// The check that fails, in words; empty when the phases may be believed: a key loop holds both products, an
/// exponential is between them, no matrix instruction is unassigned, and multiply-adds of QK and PV are within 2 % of
/// each other, or of the ratio of two head dims that are in use and that the number of exponentials confirms.
std::string FailedCheck(const CodeFacts& code, const InferenceChecks& checks);

}  // namespace fa_profile::analyze
