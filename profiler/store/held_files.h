#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

namespace fa_profile::store {

/// Open files of this process, by number. A program that is watched may close descriptors that are not its own, and get
/// their numbers for its files: those must not be written to.
class HeldFiles {
 public:
  /// Adds the descriptor that is open on the file at `path`, if there is one.
  void Add(const std::string& path);
  void KeepFirst() { files_.resize(files_.empty() ? 0 : 1); }
  std::size_t count() const { return files_.size(); }
  /// Whether all numbers are still those of the same files.
  bool Held() const;

 private:
  struct File {
    int number;
    dev_t device;
    ino_t inode;
  };
  std::vector<File> files_;
};

}  // namespace fa_profile::store
