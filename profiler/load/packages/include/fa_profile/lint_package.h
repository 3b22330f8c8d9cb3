#pragma once

#include <functional>
#include <string>

#include "fa_profile/code_files.h"
#include "fa_profile/kernel_lint.h"
#include "fa_profile/lint_files.h"

namespace fa_profile::load {

/// Called from one thread at a time, while a package is read.
struct PackageWatch {
  /// How much of the package's content (PackageLint::found) is done. `total` is 0 until another thread has counted.
  std::function<void(int done, int total)> progress{};
  /// Each attention kernel, in the order of the result, once those before it are done.
  std::function<void(const KernelLint& kernel)> kernel{};
};

/// Lints every attention kernel of a Python package, a wheel or a folder: `request` applies except its files. Several
/// threads work, each with the cubins for one run of nvdisasm, from any files. Equal cubins are disassembled once.
///
/// What cannot be read is counted with its reason. Throws Error: nvdisasm is missing; the package cannot be read
/// (ForEachCodeFile()); no file in it has GPU code, or none for the request's architecture; no kernel in it matches the
/// request's pattern.
PackageLint LintPackage(const std::string& package, const LintRequest& request, const PackageWatch& watch = {},
                        const PackageLimits& limits = {});

}  // namespace fa_profile::load
