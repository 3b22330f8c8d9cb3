#pragma once

#include <string>

#include "fa_profile/code_files.h"
#include "fa_profile/code_linter.h"
#include "fa_profile/kernel_lint.h"
#include "fa_profile/lint_files.h"

namespace fa_profile::load {

/// Lints every attention kernel of a Python package, a wheel or a folder: `request` applies except its files.
///
/// What cannot be read is counted with its reason. Throws Error: nvdisasm is missing; the package cannot be read
/// (ForEachCodeFile()); no file in it has GPU code, or none for the request's architecture; no kernel in it matches the
/// request's pattern.
PackageLint LintPackage(const std::string& package, const LintRequest& request, const LintWatch& watch = {},
                        const PackageLimits& limits = {});

}  // namespace fa_profile::load
