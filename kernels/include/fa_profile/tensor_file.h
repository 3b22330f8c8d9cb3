#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fa_profile/number_format.h"

namespace fa_profile {

/// The elements of a tensor from a file. *.npy: a NumPy array with these extents, in C order, of little-endian float16,
/// float32, float64, int8, int32 or int64. Any other file: the elements as they are in the GPU's memory. Throws Error
/// that names the file: not found, wrong size, extents or type.
std::vector<double> ReadTensorFile(const std::string& path, NumberFormat format, std::span<const std::int64_t> extents);

}  // namespace fa_profile
