#pragma once

#include <functional>
#include <optional>
#include <string>

#include "fa_profile/evidence.h"

namespace fa_profile::gate {

/// Receives a file of a wheel: its name there, and its path, which is valid during the call.
using TakeWheelFile = std::function<void(const std::string& name, const std::string& path)>;
/// Receives the name of what a wheel holds and cannot be read, and why.
using SkipWheelFile = std::function<void(const std::string& name, const std::string& why)>;

/// Selects the code of a build.
struct StaticOptions {
  /// Reads the files of a wheel that may hold GPU code (load::ForEachCodeFile()); absent: a wheel is an error.
  std::function<void(const std::string& wheel, const TakeWheelFile&, const SkipWheelFile&)> read_wheel;
  /// Whether a file may be an archive (load::MayBeArchive()), and the same for the files in it; absent: archives in a
  /// folder are searched as they are.
  std::function<bool(const std::string& path)> is_archive;
  std::function<void(const std::string& name, const std::string& path, const TakeWheelFile&, const SkipWheelFile&)>
      read_archive;
  std::string architecture;              ///< "sm_90a"; empty: the newest of each file
  std::string kernel_pattern;            ///< RE2, searched in a case's kernel and in demangled names; empty: all
  std::optional<std::string> build_log;  ///< file of compiler output; absent: the folder's fa-profile-build.log
};

/// Evidence from machine code: no process, and a case per kernel with its code, compiler warnings, and for each phase
/// the line with most instructions. `build` is a cubin, an object, a program, a static or shared library, or a folder
/// with some of them, or a wheel (docs/gate-reference.md). The same compiler gives the same evidence in every folder,
/// except mangled symbols. Throws Error, with the cure, without GPU code, without a kernel that matches, without
/// nvdisasm or cuobjdump.
Evidence StaticEvidence(const std::string& build, const StaticOptions& options);

/// Makes the warnings of two builds comparable. If only one has a compiler log, its warnings are removed and its losses
/// note it: no warning can be known to be new. A file without kernels that has warnings in one build gets an empty case
/// in the other.
void AlignWarnings(Evidence& base, Evidence& candidate);

}  // namespace fa_profile::gate
