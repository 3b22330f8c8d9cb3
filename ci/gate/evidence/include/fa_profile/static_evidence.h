#pragma once

#include <optional>
#include <string>

#include "fa_profile/evidence.h"

namespace fa_profile {

/// How a build is looked at.
struct StaticOptions {
  std::string architecture;              ///< "sm_90a"; empty: of each file the newest that it has code for
  std::string kernel_pattern;            ///< RE2, found in a case's kernel or a demangled name; empty: every kernel
  std::optional<std::string> build_log;  ///< what the compiler said; absent: the folder's own fa-profile-build.log
};

/// What the compiler alone tells of a build: no process, a case per kernel with its code, its compiler's warnings, and
/// as place of each phase the line with most instructions. `build` is a cubin, an object, a program, a static or shared
/// library, or a folder with some of them; docs/gate-evidence.md says which, and how kernels are named. The same
/// compiler gives the same evidence wherever the build lies, but for mangled symbols.
/// Throws Error, with the cure, when there is no GPU code, no kernel that the pattern finds, no nvdisasm or cuobjdump.
Evidence StaticEvidence(const std::string& build, const StaticOptions& options);

/// Makes the warnings of two builds comparable. Where one came without a compiler's log nobody can tell which are new:
/// those of the other are taken out, and its losses say so. A file without kernels that was warned of in one build gets
/// a case in the other too: without a warning.
void AlignWarnings(Evidence& base, Evidence& candidate);

}  // namespace fa_profile
