#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "fa_profile/descriptor.h"

namespace fa_profile {

/// An external file, open for reading: every such file is opened here. A named pipe or a device is refused without
/// waiting for it. Throws Error that names the path: not found, a directory, not a regular file, not readable.
Descriptor OpenFile(const std::string& path);

/// The bytes of a regular file, at most `most`. A file in /proc, which claims to have 0 bytes, is read like any other.
/// Throws Error like OpenFile(), and if the file is larger than `most`.
std::string ReadFile(const std::string& path, std::size_t most);

/// The same, but a symbolic link is refused: for folders that other users may write to.
std::string ReadPlainFile(const std::string& path, std::size_t most);

/// The same for a file that is already open; `path` is its name in errors.
std::string ReadOpenFile(int fd, const std::string& path, std::size_t most);

/// The next bytes of an open file, as many as fit into `buffer`; their number, 0 at the end. Throws Error.
std::size_t ReadSome(int fd, const std::string& path, std::span<char> buffer);

/// A file's new content, written next to it under another name. PutInPlace() renames it over the file, so that a reader
/// sees either the complete old content or the complete new. Without PutInPlace() nothing has changed. A device or a
/// pipe at `path` (/dev/stdout) is written to directly.
class PendingFile {
 public:
  /// `mode`: permissions of a new file, before the umask. Throws Error that names `path`.
  PendingFile(std::string path, std::string_view content, unsigned mode = 0666);
  PendingFile(PendingFile&& other) noexcept;
  PendingFile& operator=(PendingFile&&) = delete;
  ~PendingFile();

  /// Throws Error. Afterwards the content survives a power loss.
  void PutInPlace();

 private:
  void Discard() noexcept;

  std::string path_;
  std::string part_;
  Descriptor file_;
  bool removes_ = false;  // part_ is ours, and not in its place yet
};

/// PendingFile, put in place at once.
void WriteWholeFile(const std::string& path, std::string_view content, unsigned mode = 0666);

}  // namespace fa_profile
