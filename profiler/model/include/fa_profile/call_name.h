#pragma once

#include <optional>
#include <string>

#include "fa_profile/shape.h"

namespace fa_profile {

/// "mma@1,8,512,64", "cublas@1,8,512,64/softmax", or "saxpy": the name of a call, or of one part of it, wherever a
/// single name is needed: progress, ranges, DataLoss, diff. `shape`: absent if it is not attention; `part`: empty for
/// all.
std::string CallName(const std::string& kernel, const std::optional<Shape>& shape, const std::string& part = {});

}  // namespace fa_profile
