#pragma once

#include <string>

namespace fa_profile {

/// What only a build with CUDA can list; a build without throws an Error that says so.
void ListKernels(const std::string& pattern);
void ListCounters(const std::string& chip, const std::string& pattern);
void ListChips();

}  // namespace fa_profile
