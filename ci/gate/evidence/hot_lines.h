#pragma once

#include <map>
#include <string>

#include "fa_profile/evidence.h"
#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile::gate {

/// The source lines of the PC samples of a call's kernels.
class HotLines {
 public:
  /// `recording` must outlive this.
  HotLines(const Recording& recording, std::string repository);

  /// The line with most samples in each phase of `entry` (empty: the whole call): a line of the phase function, not of
  /// its callees; outside phase functions a line of the kernel. A phase without lines is left out.
  std::map<std::string, SourcePlace> Of(const ProfileEntry& entry);

 private:
  using Line = std::pair<std::string, int>;  // the file as in the line table

  struct Located {
    std::string phase;
    Line line;
  };

  const std::vector<Located>& Locate(const DeviceFunction& function, bool attention);
  const std::string& Relative(const std::string& path);

  const Recording& recording_;
  std::string repository_;
  std::map<std::int64_t, const DeviceFunction*> functions_;
  std::map<std::pair<std::int64_t, bool>, std::vector<Located>> located_;  // kernels are shared by cases
  std::map<std::string, std::string> relative_;
};

}  // namespace fa_profile::gate
