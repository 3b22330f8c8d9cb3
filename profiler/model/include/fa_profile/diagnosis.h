#pragma once

#include <string>

namespace fa_profile {

/// One finding of `fa-profile doctor`.
struct Diagnosis {
  enum class Level { kOk, kWarning, kProblem };
  Level level = Level::kOk;
  std::string subject;  ///< "driver", "permission", "counters", "nvdisasm", ...
  std::string detail;   ///< what was found
  std::string cure;     ///< what to do; empty when ok
};

}  // namespace fa_profile
