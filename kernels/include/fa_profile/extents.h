#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/shape.h"

namespace fa_profile {

/// The extents that a tensor's shape text gives ("m,(k+15)/16*16") for these parameters. Throws Error, whose message
/// begins with what is wrong and has no subject: not an expression, an unknown parameter, a division by zero, a value
/// beyond 64 bits, an extent below 1, more than 8 extents, more than 2^40 elements.
std::vector<std::int64_t> ExtentsOf(std::string_view text, std::span<const ShapeParameter> parameters);

std::int64_t ElementsOf(std::span<const std::int64_t> extents);

/// "[3,17]": an element's place in a tensor.
std::string PlaceOf(std::int64_t index, std::span<const std::int64_t> extents);

}  // namespace fa_profile
