#pragma once

#include <optional>
#include <string>

#include "fa_profile/evidence.h"

namespace fa_profile::gate {

/// Selects the code of a build.
struct StaticOptions {
  std::string architecture;              ///< "sm_90a"; empty: the newest of each file
  std::string kernel_pattern;            ///< RE2, searched in a case's kernel and in demangled names; empty: all
  std::optional<std::string> build_log;  ///< file of compiler output; absent: the folder's fa-profile-build.log
};

/// Evidence from machine code: no process, and a case per kernel with its code, compiler warnings, and for each phase
/// the line with most instructions. `build` is a cubin, an object, a program, a static or shared library, or a folder
/// with some of them (docs/gate-reference.md). The same compiler gives the same evidence in every folder, except
/// mangled symbols. Throws Error, with the cure, without GPU code, without a kernel that matches, without nvdisasm or
/// cuobjdump.
Evidence StaticEvidence(const std::string& build, const StaticOptions& options);

/// Makes the warnings of two builds comparable. If only one has a compiler log, its warnings are removed and its losses
/// note it: no warning can be known to be new. A file without kernels that has warnings in one build gets an empty case
/// in the other.
void AlignWarnings(Evidence& base, Evidence& candidate);

}  // namespace fa_profile::gate
