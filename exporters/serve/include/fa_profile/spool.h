#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fa_profile/descriptor.h"
#include "fa_profile/error.h"

namespace fa_profile::serve {

/// A file cannot be read now, and the reason is not the file.
class NotNow : public Error {
 public:
  using Error::Error;
};

/// A folder into which runs put recordings by rename, and from which the exporter counts them. Counted files go to
/// `done/`, files that cannot be counted to `bad/`; the newest of each are kept. Links are never followed: a link, a
/// FIFO or a folder is a bad file.
class Spool {
 public:
  /// `most_bytes`: larger files are bad. `keep`: how many files done/ and bad/ hold.
  Spool(std::string folder, std::uintmax_t most_bytes, int keep);

  struct Listing {
    std::vector<std::string> recordings;  ///< names of *.fap, oldest first
    std::vector<std::string> failures;    ///< names of *.failure
  };
  /// Throws Error when the folder cannot be read, now.
  Listing List() const;

  /// Opens a regular file of the folder for reading. Throws NotNow when it may be readable later (permissions, no
  /// descriptors, gone), Error when it never will be.
  Descriptor Open(const std::string& name) const;

  /// Identifies the file that has this name now; another file under the name has another identity. Empty when there is
  /// none.
  std::string Identity(const std::string& name) const;

  /// Moves a file into the folder done/ or bad/ (links are not followed). Logs the reason and returns false when it
  /// cannot.
  bool MoveTo(const std::string& subfolder, const std::string& name) const;

 private:
  /// `folder`: an open descriptor of done/ or bad/.
  void Prune(int folder, const std::string& name_of_folder) const;

  std::string folder_;
  std::uintmax_t most_bytes_;
  int keep_;
};

}  // namespace fa_profile::serve
