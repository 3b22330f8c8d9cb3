#pragma once

#include <cstdint>
#include <string>

#include "commands.h"

namespace fa_profile {

/// What gate selftest was asked for, as parsed.
struct GateSelftestOptions {
  std::string data;                  ///< a file of trial data; empty: the one that comes with the program
  std::int64_t trials = 20000;       ///< fake pull requests
  std::int64_t power_trials = 2000;  ///< draws for each question of what is found
  std::uint64_t seed = 1;
  const Format* format = nullptr;
};

/// The gate against recorded processes of the same code and of mutants: how often it cries wolf, and what it misses.
/// Needs no GPU. Returns 0 when every target is met, 1 when one is missed; throws Error when the data cannot be used.
int RunGateSelftest(const GateSelftestOptions& options);

}  // namespace fa_profile
