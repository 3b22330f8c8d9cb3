#pragma once

#include <cstdint>
#include <vector>

#include "fa_profile/profile.h"

namespace fa_profile::analyze {

/// GPU time of a call and of its parts.
struct CallTimes {
  struct Part {
    const ProfileEntry* entry = nullptr;
    std::int64_t ns = 0;
  };
  const ProfileEntry* first = nullptr;  ///< of the whole call, or of its first part where that has no entry
  std::int64_t ns = 0;
  std::vector<Part> parts;  ///< add up to `ns`; empty: the call has none
};

/// The calls of a profile, in its order; those without a time are left out. Pointers are into the profile.
std::vector<CallTimes> TimesOfCalls(const Profile& profile);

/// Each launch's share of the time of all.
std::vector<double> LaunchRatios(const std::vector<Launch>& launches);

/// Time of a launch on the GPU; 0 where it ends before it starts.
std::int64_t LaunchNs(const Launch& launch);

}  // namespace fa_profile::analyze
