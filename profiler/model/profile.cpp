#include "fa_profile/profile.h"

#include <cmath>

namespace fa_profile {

std::optional<double> AsyncWait::hidden_ratio() const {
  if (!issued_before_cycles || *issued_before_cycles + waited_cycles <= 0.0) return std::nullopt;
  double work = 0.0;
  for (const auto& [name, cycles] : beside_cycles) work += cycles;
  return work / (*issued_before_cycles + waited_cycles);
}

bool Closure::closes() const { return std::abs(phases - whole) <= limit_ratio * std::abs(whole); }

}  // namespace fa_profile
