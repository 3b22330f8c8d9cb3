#pragma once

#include <optional>
#include <vector>

#include "fa_profile/lint.h"
#include "lint_code.h"

namespace fa_profile::analyze {

/// The input of the rules: a kernel and what has been read from it so far.
struct LintSubject {
  const KernelCode& kernel;
  const KernelLint& lint;  ///< all but its findings
  LintCode code;
  std::optional<Device> limits;  ///< an SM's; nothing for an unknown architecture
  Launch launch;                 ///< one block; without threads if they or the registers are not known
};

/// At most one finding per rule, in the table's order.
std::vector<Finding> FindInCode(const LintSubject& subject);

}  // namespace fa_profile::analyze
