#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fa_profile/descriptor.h"
#include "fa_profile/error.h"
#include "fa_profile/folder_lock.h"

namespace fa_profile::serve {

/// A file cannot be read now, for a reason that is not the file's.
class NotNow : public Error {
 public:
  using Error::Error;
};

struct SpoolLimits {
  std::uintmax_t most_bytes = 0;  ///< per file; larger ones are bad
  int keep = 0;                   ///< most files in done/ and in bad/
  std::uintmax_t keep_bytes = 0;  ///< most bytes in each
};

/// A folder into which runs put recordings by rename, and from which one exporter counts them. Counted files go to
/// `done/`, files that cannot be counted to `bad/`; the newest of each are kept. Links are never followed: a link, a
/// FIFO or a folder is a bad file.
class Spool {
 public:
  /// Locks the folder. Throws Error: another exporter has it, or it cannot be read and written.
  Spool(std::string folder, const SpoolLimits& limits);

  struct Listing {
    std::vector<std::string> recordings;  ///< names of *.fap, oldest first
    std::vector<std::string> failures;    ///< names of *.failure, oldest first
  };
  /// Throws Error if the folder cannot be read or written, or now belongs to another exporter.
  Listing List();

  /// Throws Error unless this exporter may count the files: its lock may have been deleted.
  void RequireOwned() { lock_.Hold(); }

  /// Opens a regular file in the folder for reading. Throws NotNow if it may be readable later (permissions, no
  /// descriptors, gone), Error if it never will be.
  Descriptor Open(const std::string& name) const;

  /// Identifies the file that now has this name; another file with that name has another identity. Empty if there is
  /// none.
  std::string Identity(const std::string& name) const;

  /// Moves a file into the folder done/ or bad/ (links are not followed). Throws Error when it cannot.
  void MoveTo(const std::string& subfolder, const std::string& name) const;

  /// Deletes the oldest files in done/ and bad/ beyond the limits.
  void Prune() const;

 private:
  Descriptor OpenSubfolder(const std::string& subfolder) const;

  std::string folder_;
  SpoolLimits limits_;
  FolderLock lock_;
};

}  // namespace fa_profile::serve
