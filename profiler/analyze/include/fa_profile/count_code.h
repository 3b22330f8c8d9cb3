#pragma once

#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// Instructions of a function, without padding.
struct CodeCounts {
  int instructions = 0;
  int loop_instructions = 0;    ///< those in loops, and in subroutines that loops call
  int local_accesses = 0;       ///< loads and stores of local memory: spilled registers, and arrays of the stack
  int loop_local_accesses = 0;  ///< those in loops
  int tensor_instructions = 0;  ///< of tensor cores
  int unknown_branches = 0;     ///< if there are any, more may be in loops
};

/// Of a disassembled function, or of an outline (sass::ReadOutline()), with the same result. Pure.
CodeCounts CountCode(const DeviceFunction& function);

}  // namespace fa_profile::analyze
