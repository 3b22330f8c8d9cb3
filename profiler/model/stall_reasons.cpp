#include "fa_profile/stall_reasons.h"

#include <algorithm>

#include "stall_table.h"

namespace fa_profile {

std::span<const StallReason> StallReasons() { return kStallReasons; }

std::span<const StallGroup> StallGroups() { return kStallGroups; }

std::string_view StallGroupOf(std::string_view reason) {
  const auto found = std::ranges::find(kStallReasons, reason, &StallReason::reason);
  return found == kStallReasons.end() ? "other" : found->group;
}

}  // namespace fa_profile
