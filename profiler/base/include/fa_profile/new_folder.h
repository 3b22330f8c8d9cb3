#pragma once

#include <string>
#include <string_view>

#include "fa_profile/descriptor.h"

namespace fa_profile {

/// A folder for new files alone: nothing that was there before is written over or followed.
class NewFolder {
 public:
  /// Makes the folder, or takes an empty one. Throws Error that names the path: not a folder, not empty, cannot be
  /// made.
  explicit NewFolder(std::string path);

  /// A new file of this name, which must name no folder. Throws Error: there is one, the disk is full.
  void Write(const std::string& name, std::string_view content) const;

 private:
  std::string path_;
  Descriptor folder_;
};

}  // namespace fa_profile
