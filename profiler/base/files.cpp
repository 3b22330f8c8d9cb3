#include "fa_profile/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "fa_profile/error.h"

namespace fa_profile {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void CannotRead(const std::string& path) {
  // What O_NOFOLLOW says of a symbolic link, to a file and to a folder.
  const int code = errno;
  std::error_code ignored;
  if (code == ELOOP || (code == ENOTDIR && fs::is_symlink(path, ignored))) {
    throw Error(path + " is a symbolic link", "give the file itself");
  }
  throw Error(path + " cannot be read: " + std::strerror(code), "check the path and its permissions");
}

[[noreturn]] void CannotWrite(const std::string& path, int code) {
  throw Error(path + " cannot be written: " + std::strerror(code),
              "check that its folder exists and is writable, and that the disk is not full");
}

// O_NONBLOCK: a named pipe is refused before it is waited for.
std::string ReadWith(const std::string& path, std::size_t most, int flags) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags));
  if (!file) CannotRead(path);
  return ReadOpenFile(file.get(), path, most);
}

}  // namespace

std::string ReadFile(const std::string& path, std::size_t most) { return ReadWith(path, most, 0); }

std::string ReadPlainFile(const std::string& path, std::size_t most) { return ReadWith(path, most, O_NOFOLLOW); }

std::string ReadOpenFile(int fd, const std::string& path, std::size_t most) {
  struct stat status {};
  if (fstat(fd, &status) != 0) CannotRead(path);
  if (S_ISDIR(status.st_mode)) throw Error(path + " is a directory", "give a file");
  if (!S_ISREG(status.st_mode)) throw Error(path + " is not a regular file", "give a file");
  if (static_cast<std::uintmax_t>(status.st_size) > most) {
    throw Error(fmt::format("{} is larger than {} MiB", path, most >> 20U), "check that it is the right file");
  }
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = read(fd, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) CannotRead(path);
    if (count == 0) break;  // another process cut it meanwhile: what parses it will say so
    done += static_cast<std::size_t>(count);
  }
  bytes.resize(done);
  return bytes;
}

PendingFile::PendingFile(std::string path, std::string_view content, unsigned mode) : path_(std::move(path)) {
  struct stat status {};
  int flags = O_WRONLY | O_CLOEXEC;
  if (stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    if (S_ISDIR(status.st_mode)) CannotWrite(path_, EISDIR);
    part_ = path_;  // a device or a pipe: a rename would replace it
  } else {
    // A new name each time: in a container every process may be number 1, and the file of a killed one must not block
    // the next.
    part_ =
        fmt::format("{}.part.{}.{:x}", path_, getpid(), std::chrono::system_clock::now().time_since_epoch().count());
    flags |= O_CREAT | O_EXCL | O_NOFOLLOW;  // never one that is there already, which may be a link
    removes_ = true;
  }
  file_ = Descriptor(open(part_.c_str(), flags, mode));
  if (!file_) {
    removes_ = false;
    CannotWrite(path_, errno);
  }
  if (!WriteAll(file_.get(), content)) {
    const int code = errno;
    Discard();
    CannotWrite(path_, code);
  }
}

PendingFile::PendingFile(PendingFile&& other) noexcept
    : path_(std::move(other.path_)),
      part_(std::move(other.part_)),
      file_(std::move(other.file_)),
      removes_(std::exchange(other.removes_, false)) {}

PendingFile::~PendingFile() { Discard(); }

void PendingFile::PutInPlace() {
  if (removes_) {
    if (fsync(file_.get()) != 0 || rename(part_.c_str(), path_.c_str()) != 0) CannotWrite(path_, errno);
    removes_ = false;
    const std::string folder = fs::path(path_).parent_path().string();
    const Descriptor directory(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory) (void)fsync(directory.get());  // the rename itself
  }
  file_.Close();
}

void PendingFile::Discard() noexcept {
  file_.Close();
  if (std::exchange(removes_, false)) (void)unlink(part_.c_str());
}

void WriteWholeFile(const std::string& path, std::string_view content, unsigned mode) {
  PendingFile(path, content, mode).PutInPlace();
}

}  // namespace fa_profile
