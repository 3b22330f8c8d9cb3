#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fa_profile/kernel_lint.h"

namespace fa_profile::exporters {

/// "1:1", "3:2" if the ratio is within 2 % of that of two small numbers, else "1.23".
std::string RatioText(double ratio);

/// "softmax 393 instructions, 66 exponentials a tile; rescale in every tile; QK:PV 1:1"; empty for a kernel whose
/// phases were not inferred.
std::string AttentionText(const KernelLint& kernel);

/// A phase's share of the code's instructions, each weighed ten times for each loop around it. Absent if the kernel has
/// no such phase.
std::optional<double> StaticShare(const KernelLint& kernel, std::string_view phase);

}  // namespace fa_profile::exporters
