#pragma once

#include <string>

namespace fa_profile {

/// What only a build with CUDA can list; a build without throws an Error that says so.
void ListKernels(const std::string& pattern);
void ListCounters(const std::string& chip, const std::string& pattern);
void ListChips();

/// Throws Error for a chip that CUPTI does not know; a build without CUDA cannot tell and takes any.
void RequireChip(const std::string& chip);

}  // namespace fa_profile
