#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "fa_profile/descriptor.h"

namespace fa_profile {

/// A folder only for new files: nothing that was there before is overwritten or followed.
class NewFolder {
 public:
  /// Makes the folder, or takes an empty one. Throws Error that names the path: not a folder, not empty, cannot be
  /// made.
  explicit NewFolder(std::string path);

  /// A new file with this name, which must not contain a folder. Throws Error: it exists, the disk is full.
  void Write(const std::string& name, std::string_view content) const;

 private:
  std::string path_;
  Descriptor folder_;
};

/// A folder that others see only when it is complete: it is made next to its place under another name, and removed if
/// it is not put in place.
class FolderBeside {
 public:
  /// `wanted`: does not exist, or is an empty folder that is not the current one. Throws Error that names it.
  explicit FolderBeside(const std::string& wanted);
  ~FolderBeside();
  FolderBeside(const FolderBeside&) = delete;
  FolderBeside& operator=(const FolderBeside&) = delete;

  /// Its location until then.
  const std::string& path() const { return path_; }
  /// The last part of its place, which is its name.
  std::string name() const { return wanted_.filename().string(); }

  /// Throws Error: something took its place.
  void PutInPlace();

 private:
  std::filesystem::path wanted_;
  std::string path_;
};

}  // namespace fa_profile
