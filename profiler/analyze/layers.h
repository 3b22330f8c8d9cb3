#pragma once

#include <cstdint>
#include <vector>

#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// Which kernels each layer of a program launches, most time first. `entries` have their final names. `kernel_ns`: of
/// all kernels.
std::vector<LayerUse> Layers(const Recording& recording, const std::vector<ProfileEntry>& entries,
                             std::int64_t kernel_ns);

/// The path with "*" for each number that is a whole word: "step * / layers.* / conv2d" for "step 12 / layers.3 /
/// conv2d".
std::string LayerOf(const std::string& path);

}  // namespace fa_profile::analyze
