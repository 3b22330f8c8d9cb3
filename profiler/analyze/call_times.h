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
  const ProfileEntry* first = nullptr;  ///< entry of the whole call, or of its first part if it has none
  std::int64_t ns = 0;
  std::vector<Part> parts;  ///< add up to `ns`; empty: the call has none
};

/// The calls in a profile, in order; those without a time are left out. Pointers into the profile.
std::vector<CallTimes> TimesOfCalls(const Profile& profile);

/// Each launch's share of the total time.
std::vector<double> LaunchRatios(const std::vector<Launch>& launches);

/// Time of a launch on the GPU; 0 if it ends before it starts.
std::int64_t LaunchNs(const Launch& launch);

}  // namespace fa_profile::analyze
