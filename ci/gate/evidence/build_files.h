#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fa_profile::gate {

/// A file with GPU code in a build.
struct BuildFile {
  std::string path;
  std::string name{};    ///< in errors, for a file of a wheel, whose path has no meaning; empty: the path
  std::string prefix{};  ///< prefix of its kernels' names: "my_kernel/"; empty for the build itself and for the ladder
  bool ladder = false;   ///< only its rungs count
  bool given = false;    ///< by its own path, not found in a folder: GPU code is expected in it
  bool compared = true;  ///< false: neither a library nor a cubin of a folder: it may be linked into its libraries
  bool archive = false;  ///< to be unpacked; itself not looked at
};

/// Whether a file may be an archive, by its path; absent: archives are files like others.
using IsArchive = std::function<bool(const std::string& path)>;

/// The files of a build: `build` itself, or in a folder, at any depth (without hidden folders, CMakeFiles, and links to
/// folders):
/// - the ladder: libfa_kernels.a, else the program fa-profile; the least deep one;
/// - every *.so, *.so.1, *.pyd, *.dll, *.cubin and *.fatbin that may have GPU code, named by its stem, or by its path
/// if
///   two share a stem;
/// - what else may have GPU code, which is not compared; with the ladder not what is linked: objects, static libraries
///   and programs;
/// - archives.
/// Throws Error if there is nothing to compare, and no archive.
std::vector<BuildFile> FindBuildFiles(const std::string& build, const IsArchive& is_archive = {});

/// Whether an object, a static library, a shared library or a program, by its first bytes. Throws Error.
bool IsLinked(const std::string& path);

/// Whether the file begins like a zip archive, which wheels are.
bool IsWheel(const std::string& path);

/// A file of a wheel or an archive, there called `name`, like one of a folder. Its kernels' names begin with the name,
/// without the hash that auditwheel adds.
BuildFile FileOfWheel(const std::string& name, const std::string& path);

/// Throws Error: the build has no kernels.
[[noreturn]] void RefuseWithoutKernels(const std::string& build);

/// fa-profile-build.log, the compiler's output, in a folder that is a build; absent: not found.
std::optional<std::string> FindBuildLog(const std::string& build);

}  // namespace fa_profile::gate
