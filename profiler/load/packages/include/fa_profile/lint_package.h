#pragma once

#include <functional>
#include <string>

#include "fa_profile/code_files.h"
#include "fa_profile/kernel_lint.h"
#include "fa_profile/lint_files.h"

namespace fa_profile::load {

/// Called from one thread at a time, while a package is read.
struct PackageWatch {
  /// How much of what the package has (PackageLint::found) is done. `total` is 0 until another thread has counted.
  std::function<void(int done, int total)> progress{};
  /// Each attention kernel, in the order of the result, as soon as those before it are done.
  std::function<void(const KernelLint& kernel)> kernel{};
};

/// Lints every attention kernel of a Python package, a wheel or a folder: of `request` all but its files count. Several
/// threads work, each with the cubins of one run of nvdisasm, of whatever files. Equal cubins are disassembled once.
///
/// What cannot be read is counted with its reason. Throws Error: nvdisasm is missing; the package cannot be read
/// (ForEachCodeFile()); no file in it has GPU code, or none for the request's architecture; no kernel in it matches the
/// request's pattern.
PackageLint LintPackage(const std::string& package, const LintRequest& request, const PackageWatch& watch = {},
                        const PackageLimits& limits = {});

}  // namespace fa_profile::load
