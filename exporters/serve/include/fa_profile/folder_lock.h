#pragma once

#include <string>

#include "fa_profile/descriptor.h"

namespace fa_profile::serve {

/// A folder that one exporter works in. The lock is a file there, and ends with the process, however it ends.
class FolderLock {
 public:
  /// `what` and `option` are for errors: "spool", "--spool".
  FolderLock(std::string folder, const char* what, const char* option);

  /// Takes the lock, and takes it again if the folder has been replaced. Throws Error while another exporter has it,
  /// and when the folder cannot be written to.
  void Hold();

 private:
  bool IsHeld() const;

  std::string folder_;
  std::string path_;
  const char* what_;
  const char* option_;
  Descriptor file_;
};

}  // namespace fa_profile::serve
