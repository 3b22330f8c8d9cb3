#pragma once

#include <map>
#include <string>
#include <vector>

#include "table.h"

namespace fa_profile::exporters {

/// Names of kernels by the reason why their code cannot be shown.
using KernelsWithoutCode = std::map<std::string, std::vector<std::string>>;

/// One paragraph for each reason, with its kernels. Nothing when there are none.
void WriteKernelsWithoutCode(TextPage& page, const KernelsWithoutCode& kernels);

}  // namespace fa_profile::exporters
