#pragma once

#include <string>
#include <string_view>

#include "fa_profile/totals.h"

namespace fa_profile::prom {

/// As JSON, doubles exact. TotalsFromJson() throws Error for anything that ToJson() did not write, and for what
/// CheckTotals() refuses.
std::string ToJson(const Totals& totals);
Totals TotalsFromJson(std::string_view text);

}  // namespace fa_profile::prom
