#include "fa_profile/repository.h"

#include <filesystem>
#include <system_error>
#include <vector>

namespace fa_profile::gate {

namespace fs = std::filesystem;

std::string FindRepository() {
  std::error_code ignored;
  for (fs::path folder = fs::current_path(ignored); !folder.empty(); folder = folder.parent_path()) {
    if (fs::exists(folder / ".git", ignored)) return folder.string();
    if (folder == folder.root_path()) break;
  }
  return {};
}

std::string RelativeSource(const std::string& path, const std::string& repository) {
  if (repository.empty() || path.empty()) return path;
  std::error_code ignored;
  const fs::path normal = fs::path(path).lexically_normal();
  const fs::path below = normal.lexically_relative(fs::path(repository).lexically_normal());
  if (normal.is_absolute() && !below.empty() && *below.begin() != "..") return below.generic_string();
  std::vector<fs::path> parts(normal.begin(), normal.end());
  for (std::size_t first = 0; first < parts.size(); ++first) {
    fs::path end;
    for (std::size_t i = first; i < parts.size(); ++i) end /= parts[i];
    if (end.is_absolute() || *end.begin() == "..") continue;  // it would leave the repository
    if (fs::is_regular_file(fs::path(repository) / end, ignored)) return end.generic_string();
  }
  return path;
}

}  // namespace fa_profile::gate
