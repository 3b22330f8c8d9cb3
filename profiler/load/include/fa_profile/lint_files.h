#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/kernel_lint.h"
#include "fa_profile/lint.h"
#include "fa_profile/phase_map.h"

namespace fa_profile::load {

/// What to lint in some files, and how.
struct LintRequest {
  std::vector<std::string> files;  ///< cubins, object files, programs, libraries
  std::string kernel_pattern;      ///< regular expression for demangled names; empty: all
  std::string architecture;        ///< "sm_90a"; empty: all
  analyze::LintOptions options;
};

/// How to stop LintFiles(): as LintWatch::stop and stopped do.
struct StopLint {
  int descriptor = -1;
  std::function<void(const FileLint& so_far)> stopped{};
};

/// Lints the kernels, file by file; equal cubins in a file once. A file that cannot be read, or has no cubin that can,
/// is skipped, and `refuse` gets the reason, which names it; if that is every file, the result has no kernels. Throws
/// Error: nvdisasm is missing; the other files have no kernel, or none that matches (with near matches).
FileLint LintFiles(const LintRequest& request, const std::function<void(const Error& why)>& refuse,
                   const StopLint& stop = {});

/// Throws Error when no instruction of these kernels belongs to a phase in `map`, which was meant for other code.
/// Returns the phases that have none if others have some.
std::vector<std::string> RequirePhases(const std::vector<KernelLint>& lints, const PhaseMap& map);

}  // namespace fa_profile::load
