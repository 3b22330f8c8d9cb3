#include "fa_profile/cuda_toolkits.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <system_error>

namespace fa_profile {
namespace {

namespace fs = std::filesystem;

std::string EnvironmentOf(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// Folders in `folder` whose names begin with `prefix`: highest version first, 3.12 before 3.9.
std::vector<fs::path> Versions(const fs::path& folder, const std::string& prefix) {
  std::vector<std::pair<std::vector<int>, fs::path>> found;
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix)) continue;
    std::vector<int> numbers;
    std::istringstream text(name.substr(prefix.size()));
    for (std::string number; std::getline(text, number, '.');) numbers.push_back(std::atoi(number.c_str()));
    found.emplace_back(numbers, entry->path());
  }
  std::ranges::sort(found, std::greater());
  std::vector<fs::path> folders;
  for (const auto& [numbers, path] : found) folders.push_back(path);
  return folders;
}

// NVIDIA's Python packages under a prefix of Python: lib/python3.12/site-packages/nvidia/cu13.
void AddPythonPackages(const fs::path& prefix, std::vector<fs::path>& folders) {
  for (const fs::path& python : Versions(prefix / "lib", "python3")) {
    for (const char* const packages : {"site-packages", "dist-packages"}) {
      folders.push_back(python / packages / "nvidia" / "cu13");
    }
  }
}

// Where the python3 on PATH keeps its packages: including a virtual environment that is not activated.
void AddPythonsOnPath(std::vector<fs::path>& folders) {
  std::istringstream path(EnvironmentOf("PATH"));
  for (std::string folder; std::getline(path, folder, ':');) {
    std::error_code ignored;
    if (folder.empty() || !fs::exists(fs::path(folder) / "python3", ignored)) continue;
    AddPythonPackages(fs::path(folder).parent_path(), folders);
    return;
  }
}

}  // namespace

std::vector<fs::path> CudaToolkits() {
  std::vector<fs::path> folders;
  for (const char* const variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string root = EnvironmentOf(variable); !root.empty()) folders.emplace_back(root);
  }
  folders.emplace_back("/usr/local/cuda");
  for (const fs::path& versioned : Versions("/usr/local", "cuda-")) folders.push_back(versioned);
  std::string cache = EnvironmentOf("XDG_CACHE_HOME");
  const std::string home = EnvironmentOf("HOME");
  if (cache.empty() && !home.empty()) cache = home + "/.cache";
  for (const char* const folder : {"cuda-tools-13.2", "cuda-13.0"}) {  // ci/cuda.sh names them
    if (!cache.empty()) folders.push_back(fs::path(cache) / "fa-profile" / folder);
  }
  for (const char* const variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string prefix = EnvironmentOf(variable); !prefix.empty()) AddPythonPackages(prefix, folders);
  }
  AddPythonsOnPath(folders);
  if (!home.empty()) AddPythonPackages(fs::path(home) / ".local", folders);
  AddPythonPackages("/usr/local", folders);
  std::error_code ignored;
  std::erase_if(folders, [&](const fs::path& folder) { return !fs::is_directory(folder, ignored); });
  return folders;
}

void* OpenCudaLibrary(const std::string& name, int mode) {
  if (void* const library = dlopen(name.c_str(), mode)) return library;
  for (const fs::path& toolkit : CudaToolkits()) {
    for (const char* const folder : {"lib64", "lib", "extras/CUPTI/lib64", "targets/x86_64-linux/lib"}) {
      const fs::path path = toolkit / folder / name;
      std::error_code ignored;
      if (!fs::exists(path, ignored)) continue;
      if (void* const library = dlopen(fs::absolute(path, ignored).c_str(), mode)) return library;
    }
  }
  return nullptr;
}

}  // namespace fa_profile
