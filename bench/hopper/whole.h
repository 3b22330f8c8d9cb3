#pragma once

#include <string>

#include "hopper/variant.h"

namespace fa_profile::hopper {

/// Runs `variant` on inputs that each make one step visible, at lengths around its tiles. Returns "" or which inputs
/// are wrong, how far, and where first.
std::string TryWhole(const Variant& variant);

}  // namespace fa_profile::hopper
