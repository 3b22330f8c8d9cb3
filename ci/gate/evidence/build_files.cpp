#include "build_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <system_error>
#include <tuple>

#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/gpu_code.h"

namespace fa_profile::gate {
namespace {

namespace fs = std::filesystem;

// The file's name without its ending and without the tag of a Python extension (PEP 3149): x for both
// x.cpython-311-x86_64-linux-gnu.so and x.cpython-312-x86_64-linux-gnu.so, which are one library.
std::string LibraryName(const fs::path& path) {
  fs::path name = path.stem();
  const std::string tag = name.extension().string();
  constexpr std::array kTags = {".cpython-", ".abi3", ".pypy"};
  const bool tagged = std::ranges::any_of(kTags, [&](const char* begin) { return tag.starts_with(begin); });
  return tagged ? name.stem().string() : name.string();
}

// Regular files below `folder`, by path relative to it.
std::vector<fs::path> FilesBelow(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code problem;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, problem);
  for (const fs::recursive_directory_iterator end; !problem && entry != end; entry.increment(problem)) {
    std::error_code ignored;
    const std::string name = entry->path().filename().string();
    if (entry->is_directory(ignored)) {
      if (name.starts_with(".") || name == "CMakeFiles") entry.disable_recursion_pending();
    } else if (entry->is_regular_file(ignored)) {
      files.push_back(entry->path().lexically_relative(folder));
    }
  }
  if (problem) throw Error(folder.string() + " cannot be read: " + problem.message(), "check its permissions");
  std::ranges::sort(files);
  return files;
}

std::optional<fs::path> FindLadder(const fs::path& folder, const std::vector<fs::path>& files) {
  std::optional<fs::path> found;
  const auto rank = [](const fs::path& path) {
    return std::tuple(path.filename() != "libfa_kernels.a", std::distance(path.begin(), path.end()), path);
  };
  for (const fs::path& path : files) {
    if (path.filename() != "libfa_kernels.a" && path.filename() != "fa-profile") continue;
    if (path.filename() == "fa-profile" && !sass::MayHoldGpuCode(folder / path)) continue;  // the launcher
    if (!found || rank(path) < rank(*found)) found = path;
  }
  return found;
}

}  // namespace

std::vector<BuildFile> FindBuildFiles(const std::string& build) {
  std::error_code problem;
  const fs::path folder = build;
  if (!fs::exists(folder, problem)) {
    throw Error(build + " not found", "give a folder, program, library, object or cubin with GPU code");
  }
  if (!fs::is_directory(folder, problem)) return {{.path = build, .given = true}};

  const std::vector<fs::path> files = FilesBelow(folder);
  std::vector<BuildFile> found;
  if (const auto ladder = FindLadder(folder, files))
    found.push_back({.path = (folder / *ladder).string(), .ladder = true});
  std::vector<fs::path> libraries;
  std::map<std::string, int> names;
  std::set<fs::path> seen;  // a library and the links to it
  for (const fs::path& path : files) {
    if (path.extension() != ".so" && path.extension() != ".cubin") continue;
    if (!seen.insert(fs::canonical(folder / path)).second) continue;
    if (path.extension() == ".so" && !sass::MayHoldGpuCode(folder / path)) continue;
    libraries.push_back(path);
    ++names[LibraryName(path)];
  }
  for (const fs::path& path : libraries) {
    const std::string short_name = LibraryName(path);
    const std::string name = names[short_name] == 1 ? short_name : fs::path(path).replace_extension().generic_string();
    found.push_back({.path = (folder / path).string(), .prefix = name + "/"});
  }
  if (found.empty()) RefuseWithoutKernels(build);
  return found;
}

void RefuseWithoutKernels(const std::string& build) {
  throw Error(build + " contains no kernels: no libfa_kernels.a, fa-profile, or .so or .cubin with GPU code",
              "build it first, or give the program, library, object or cubin with the kernels");
}

std::optional<std::string> FindBuildLog(const std::string& build) {
  std::error_code ignored;
  const fs::path log = fs::path(build) / "fa-profile-build.log";
  if (!fs::is_directory(build, ignored) || !fs::is_regular_file(log, ignored)) return std::nullopt;
  return log.string();
}

}  // namespace fa_profile::gate
