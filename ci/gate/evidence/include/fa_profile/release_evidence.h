#pragma once

#include <functional>
#include <string>

#include "fa_profile/release.h"
#include "fa_profile/static_evidence.h"

namespace fa_profile::gate {

/// How a package is read. The walks are load::ForEachCodeFile() and load::ForEachCodeInFile().
struct ReleaseOptions {
  std::function<void(const std::string& package, const TakeWheelFile&, const SkipWheelFile&)> read_package;
  std::function<void(const std::string& name, const std::string& path, const TakeWheelFile&, const SkipWheelFile&)>
      read_file;
  std::string architecture;                   ///< "sm_90a"; empty: all
  std::string kernel_pattern;                 ///< RE2, searched in demangled names; empty: all
  std::function<void(int files)> progress{};  ///< called after each file with GPU code
};

/// The GPU code of a wheel, a folder, a library, a Debian package, a cubin, ...; all architectures, without nvdisasm.
/// Cubins are read one at a time, equal ones of a file once. Throws Error, with the cure: the package cannot be read,
/// has no GPU code, or none for the architecture; no kernel matches the pattern.
Release ReadRelease(const std::string& package, const ReleaseOptions& options);

}  // namespace fa_profile::gate
