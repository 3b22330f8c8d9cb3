#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fa_profile/error.h"

namespace fa_profile {

/// An open file, closed with its owner. Move-only.
class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  ~OpenFile();
  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// What stops a file from being counted now and says nothing about the file.
class NotNow : public Error {
 public:
  using Error::Error;
};

/// Text for one line of a log: control characters become '?'.
std::string Printable(std::string text);

/// A folder into which runs put recordings by rename, and from which the exporter counts them. Counted files go to
/// `done/`, files that cannot be counted to `bad/`; the newest of each are kept. Names are never followed anywhere: a
/// link, a FIFO or a folder is no recording.
class Spool {
 public:
  /// `most_bytes`: larger files are bad. `keep`: how many files done/ and bad/ hold.
  Spool(std::string folder, std::uintmax_t most_bytes, int keep);

  struct Listing {
    std::vector<std::string> recordings;  ///< names of *.fap, oldest first
    std::vector<std::string> failures;    ///< names of *.failure
  };
  /// Throws Error when the folder cannot be read: it may be back at the next call.
  Listing List() const;

  /// Opens a regular file of the folder for reading. Throws NotNow when it may be readable later (permissions, no
  /// descriptors, gone), Error when it is no recording whatever one waits for.
  OpenFile Open(const std::string& name) const;

  /// What a name stands for now: another file renamed onto it has another identity. Empty when it is gone.
  std::string Identity(const std::string& name) const;

  /// Moves a file out of the way, into the folder done/ or bad/ (links are not followed); false, with the reason in the
  /// log, when that cannot be.
  bool MoveTo(const std::string& subfolder, const std::string& name) const;

  const std::string& folder() const { return folder_; }

 private:
  /// `folder`: an open descriptor of done/ or bad/.
  void Prune(int folder) const;

  std::string folder_;
  std::uintmax_t most_bytes_;
  int keep_;
};

}  // namespace fa_profile
