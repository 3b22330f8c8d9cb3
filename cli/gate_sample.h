#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fa_profile/attention_shape.h"

namespace fa_profile {

/// What a timing process of the gate is asked for.
struct GateSampleOptions {
  std::string kernel_pattern;
  std::vector<std::string> kernel_libraries;
  std::vector<AttentionShape> shapes;  ///< empty: the default shape
  int launches = 15;                   ///< timed samples a case
  std::uint64_t order = 0;             ///< seed of the order in which the cases are timed
  int device = 0;
};

/// Times each case once, in random order, the gate's reference kernel among them, and prints one line of JSON
/// (docs/gate-pair.md): what one process of a pair measured. Nothing profiles meanwhile, and nothing is verified.
int RunGateSample(const GateSampleOptions& options);

}  // namespace fa_profile
