#pragma once

#include <optional>

#include "fa_profile/profile.h"
#include "inference/phases_of_code.h"

namespace fa_profile::analyze {

/// What one round of the innermost loop over keys does. Nothing if no loop holds both products.
std::optional<KeyTile> ReadKeyTile(const CodeFacts& code, const Assignment& phases, StepBudget& budget);

}  // namespace fa_profile::analyze
