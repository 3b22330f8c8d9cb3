#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

namespace fa_profile::store {

/// This process's open files, by number. A watched program may close descriptors that are not its own, and get their
/// numbers for its files: those must not be written to.
class HeldFiles {
 public:
  /// Adds the descriptor that is open on the file at `path`, if any.
  void Add(const std::string& path);
  void KeepFirst() { files_.resize(files_.empty() ? 0 : 1); }
  std::size_t count() const { return files_.size(); }
  /// Whether all numbers still belong to the same files.
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
