#pragma once

#include <set>
#include <string>
#include <vector>

namespace fa_profile {

/// What only a build with CUDA can list; a build without throws an Error that says so.
void ListKernels(const std::string& pattern);
void ListCounters(const std::string& chip, const std::string& pattern);
void ListChips();

/// Chips that CUPTI knows; in a build without CUDA those that the metric sets are made for.
std::vector<std::string> KnownChips();

/// Base names of every counter of the chips that the metric sets are made for; empty in a build without CUDA, which
/// cannot tell.
std::set<std::string> KnownCounters();

}  // namespace fa_profile
