#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "checked_workload.h"
#include "tensor_library.h"

namespace fa_profile {

/// Judges what a kernel left in its tensors, which were drawn with `seed`. `results`: their memory, in the order of the
/// description. Runs the library's reference and check. Throws Error where inputs cannot be drawn.
DrawErrors CheckResults(const TensorLibrary& library, const std::vector<ShapeParameter>& parameters, std::uint64_t seed,
                        const std::vector<std::vector<std::byte>>& results);

}  // namespace fa_profile
