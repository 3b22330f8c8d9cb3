#include "fa_profile/bundled.h"

#include <filesystem>

namespace fa_profile {

std::optional<std::string> FindBundled(const std::string& installed, [[maybe_unused]] const std::string& source,
                                       const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path candidates[] = {
      program.parent_path() / ".." / "share" / "fa-profile" / installed / name,
#ifdef FA_PROFILE_SOURCE_DIR  // not in builds for other machines
      fs::path(FA_PROFILE_SOURCE_DIR) / source / name,
      fs::path(FA_PROFILE_INSTALL_DATA_DIR) / installed / name,
#endif
  };
  for (const fs::path& candidate : candidates) {
    if (fs::exists(candidate, ignored)) return candidate.lexically_normal().string();
  }
  return std::nullopt;
}

}  // namespace fa_profile
