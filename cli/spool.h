#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

  /// Opens a regular file of the folder for reading. Throws Error that says what it is instead.
  OpenFile Open(const std::string& name) const;

  /// Moves a file out of the way, into done/ or bad/; false, with errno's reason in the log, when that cannot be.
  bool MoveTo(const std::string& subfolder, const std::string& name) const;

  const std::string& folder() const { return folder_; }

 private:
  void Prune(const std::string& subfolder) const;

  std::string folder_;
  std::uintmax_t most_bytes_;
  int keep_;
};

}  // namespace fa_profile
