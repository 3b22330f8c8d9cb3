#pragma once

#include <optional>
#include <string>

#include "fa_profile/shape.h"

namespace fa_profile {

/// "mma@1,8,512,64", "cublas@1,8,512,64/softmax", or "saxpy": how a call, or one part of it, is named wherever one name
/// has to say it all: progress, ranges, DataLoss, diff. `shape`: absent where it is not attention; `part`: empty for
/// all.
std::string CallName(const std::string& kernel, const std::optional<Shape>& shape, const std::string& part = {});

}  // namespace fa_profile
