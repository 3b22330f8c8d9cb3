#pragma once

#include <functional>
#include <string>

#include "fa_profile/code_files.h"
#include "fa_profile/kernel_lint.h"
#include "fa_profile/lint_files.h"

namespace fa_profile::load {

/// Called from one thread at a time: cubins of `file` that are read, and how many there are.
using PackageProgress = std::function<void(const std::string& file, int done, int total)>;

/// Lints every attention kernel of a Python package, a wheel or a folder: of `request` all but its files count. Several
/// threads work, and each holds one cubin.
///
/// What cannot be read is counted with its reason. Throws Error: nvdisasm is missing; the package cannot be read
/// (ForEachCodeFile()); no file in it has GPU code, or none for the request's architecture; no kernel in it matches the
/// request's pattern.
PackageLint LintPackage(const std::string& package, const LintRequest& request, const PackageProgress& progress = {},
                        const PackageLimits& limits = {});

}  // namespace fa_profile::load
