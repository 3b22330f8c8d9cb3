#pragma once

#include <map>
#include <string>

#include "fa_profile/evidence.h"
#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile {

/// The lines in which the PC samples of a call's kernels lie.
class HotLines {
 public:
  /// `recording` has to outlive this.
  HotLines(const Recording& recording, std::string repository);

  /// By phase of `entry` (empty: the whole call) the line with most samples: of a phase function's own text, whatever
  /// it calls; of code outside of any, of the kernel's. A phase without a sample that has a line is not in it.
  std::map<std::string, SourcePlace> Of(const ProfileEntry& entry);

 private:
  using Line = std::pair<std::string, int>;  // the file as the line table has it

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

}  // namespace fa_profile
