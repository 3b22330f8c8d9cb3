#include "build_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>

#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/gpu_code.h"

namespace fa_profile::gate {
namespace {

namespace fs = std::filesystem;

// "x.so" of "x.so.1.2".
fs::path WithoutVersion(fs::path path) {
  const auto is_number = [](const std::string& text) {
    return text.size() > 1 && text.find_first_not_of("0123456789", 1) == std::string::npos;
  };
  while (is_number(path.extension().string())) path.replace_extension();
  return path;
}

enum class Kind { kLibrary, kCode, kOther };
Kind KindOf(const fs::path& path) {
  const std::string ending = WithoutVersion(path).extension().string();
  if (ending == ".so" || ending == ".pyd" || ending == ".dll") return Kind::kLibrary;
  return ending == ".cubin" || ending == ".fatbin" ? Kind::kCode : Kind::kOther;
}

// The file's name without its ending, and without the tag of a Python extension (PEP 3149): x of
// x.cpython-311-x86_64-linux-gnu.so and of x.cpython-312-x86_64-linux-gnu.so, which are one library, and of
// x.cp312-win_amd64.pyd.
std::string LibraryName(const fs::path& path) {
  fs::path name = WithoutVersion(path).stem();
  const std::string tag = name.extension().string();
  constexpr std::array kTags = {".cpython-", ".abi3", ".pypy", ".cp3"};
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

bool IsLinked(const std::string& path) {
  std::array<char, 64> head{};
  const Descriptor file = OpenFile(path);
  return sass::BeginsLikeGpuCode({head.data(), ReadSome(file.get(), path, head)});
}

std::vector<BuildFile> FindBuildFiles(const std::string& build, const IsArchive& is_archive) {
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
  std::vector<fs::path> others;
  std::vector<fs::path> archives;
  std::map<std::string, int> names;
  const auto without_ending = [](const fs::path& path) {
    return WithoutVersion(path).replace_extension().generic_string();
  };
  std::set<fs::path> seen;  // a library and the links to it
  for (const fs::path& path : files) {
    const Kind kind = KindOf(path);
    // What the ladder was linked from, and programs that it is linked into, are not looked at.
    if (kind == Kind::kOther && !found.empty() && IsLinked(folder / path)) continue;
    if (is_archive && is_archive(folder / path)) {
      archives.push_back(path);
      if (kind == Kind::kOther) continue;
    }
    if (kind != Kind::kCode && !sass::MayHoldGpuCode(folder / path)) continue;
    if (kind == Kind::kOther) {
      others.push_back(path);
      continue;
    }
    if (!seen.insert(fs::canonical(folder / path)).second) continue;
    libraries.push_back(path);
    ++names[LibraryName(path)];
  }
  for (const fs::path& path : libraries) {
    const std::string short_name = LibraryName(path);
    const std::string long_name = without_ending(path);
    const bool is_one = std::ranges::count(libraries, long_name, without_ending) == 1;
    const std::string name = names[short_name] == 1 ? short_name : is_one ? long_name : path.generic_string();
    found.push_back({.path = (folder / path).string(), .prefix = name + "/"});
  }
  if (found.empty() && archives.empty()) RefuseWithoutKernels(build);
  for (const fs::path& path : others) found.push_back({.path = (folder / path).string(), .compared = false});
  for (const fs::path& path : archives) found.push_back({.path = (folder / path).string(), .archive = true});
  return found;
}

bool IsWheel(const std::string& path) {
  std::error_code problem;
  if (!fs::is_regular_file(path, problem)) return false;
  constexpr std::string_view kZip = "PK\x03\x04";
  std::array<char, kZip.size()> head{};
  const Descriptor file = OpenFile(path);
  return ReadSome(file.get(), path, head) == kZip.size() && std::ranges::equal(head, kZip);
}

BuildFile FileOfWheel(const std::string& name, const std::string& path) {
  const fs::path in_wheel = name;
  std::string library = LibraryName(in_wheel);
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  constexpr std::size_t kHashDigits = 8;
  const std::size_t dash = library.size() > kHashDigits ? library.size() - kHashDigits - 1 : std::string::npos;
  if (dash != std::string::npos && library[dash] == '-' &&
      library.find_first_not_of(kHexDigits, dash + 1) == std::string::npos) {
    library.resize(dash);
  }
  return {.path = path,
          .name = name,
          .prefix = (in_wheel.parent_path() / library).generic_string() + "/",
          .compared = KindOf(in_wheel) != Kind::kOther};
}

void RefuseWithoutKernels(const std::string& build) {
  throw Error(build + " contains no kernels: no libfa_kernels.a, fa-profile, or .so, .cubin or .fatbin with GPU code",
              "build it first, or give the program, library, object or cubin with the kernels");
}

std::optional<std::string> FindBuildLog(const std::string& build) {
  std::error_code ignored;
  const fs::path log = fs::path(build) / "fa-profile-build.log";
  if (!fs::is_directory(build, ignored) || !fs::is_regular_file(log, ignored)) return std::nullopt;
  return log.string();
}

}  // namespace fa_profile::gate
