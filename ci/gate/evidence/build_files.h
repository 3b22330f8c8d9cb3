#pragma once

#include <optional>
#include <string>
#include <vector>

namespace fa_profile {

/// A file with GPU code in a build.
struct BuildFile {
  std::string path;
  std::string prefix;   ///< put before its kernels' names: "my_kernel/"; empty for the build itself and for the ladder
  bool ladder = false;  ///< only its rungs are looked at
};

/// The files of a build: `build` itself, or, of a folder, at any depth (hidden folders and CMake's own left out, links
/// to folders not followed):
/// - the ladder: libfa_kernels.a, else the program fa-profile; the one that lies least deep;
/// - every *.so and *.cubin with GPU code, named after itself without extension, or by its path where two share a name.
/// Sorted by name, so that the order is the same everywhere. Throws Error when there is nothing of it.
std::vector<BuildFile> FindBuildFiles(const std::string& build);

/// fa-profile-build.log in a folder that is a build, where its compiler's output is looked for.
std::optional<std::string> FindBuildLog(const std::string& build);

}  // namespace fa_profile
