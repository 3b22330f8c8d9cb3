#pragma once

#include <cstdint>
#include <span>

#include "fa_profile/kernel_description.h"

namespace fa_profile {

/// Draws the elements of a tensor by a rule other than FA_PROFILE_FUNCTION. Element i depends only on (seed, tensor,
/// i). `tensor`: its number in the kernel. Not rounded to the tensor's format.
void DrawValues(const Draw& draw, std::uint64_t seed, std::uint32_t tensor, std::span<double> values);

}  // namespace fa_profile
