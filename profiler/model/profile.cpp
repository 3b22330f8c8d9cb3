#include "fa_profile/profile.h"

#include <cmath>

namespace fa_profile {

bool Closure::closes() const { return std::abs(phases - whole) <= limit_ratio * std::abs(whole); }

}  // namespace fa_profile
