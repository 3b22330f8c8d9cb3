#pragma once

#include <filesystem>

namespace fa_profile {

/// A folder for this user only, under the system's folder for temporary files (TMPDIR). It is removed with its
/// contents.
class PrivateFolder {
 public:
  /// Throws Error when none can be made.
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace fa_profile
