#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "fa_profile/descriptor.h"

namespace fa_profile {

/// A file from outside, open for reading: every such file is opened here. A named pipe or a device is refused without
/// waiting for it. Throws Error that names the path: not found, a directory, not a regular file, not readable.
Descriptor OpenFile(const std::string& path);

/// The bytes of a regular file, at most `most`. A file of /proc, which says that it has 0 bytes, is read like any
/// other. Throws Error as OpenFile(), and when the file is larger than `most`.
std::string ReadFile(const std::string& path, std::size_t most);

/// The same, and a symbolic link is refused: for folders that other users may write to.
std::string ReadPlainFile(const std::string& path, std::size_t most);

/// The same of a file that is open; `path` is its name in errors.
std::string ReadOpenFile(int fd, const std::string& path, std::size_t most);

/// The next bytes of an open file, as many as fit into `buffer`; their number, 0 at the end. Throws Error.
std::size_t ReadSome(int fd, const std::string& path, std::span<char> buffer);

/// A file's new content, written next to it under another name. PutInPlace() renames it over the file, so that a reader
/// sees the old content or the new, whole. Without PutInPlace() nothing has changed. A device or a pipe at `path`
/// (/dev/stdout) is written to directly.
class PendingFile {
 public:
  /// `mode`: permissions of a new file, before the umask. Throws Error that names `path`.
  PendingFile(std::string path, std::string_view content, unsigned mode = 0666);
  PendingFile(PendingFile&& other) noexcept;
  PendingFile& operator=(PendingFile&&) = delete;
  ~PendingFile();

  /// Throws Error. Afterwards the content outlasts a loss of power.
  void PutInPlace();

 private:
  void Discard() noexcept;

  std::string path_;
  std::string part_;
  Descriptor file_;
  bool removes_ = false;  // part_ is ours, and not yet in its place
};

/// PendingFile, put in place at once.
void WriteWholeFile(const std::string& path, std::string_view content, unsigned mode = 0666);

}  // namespace fa_profile
