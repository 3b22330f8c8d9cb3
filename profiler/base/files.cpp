#include "fa_profile/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <utility>

#include "fa_profile/error.h"
#include "fa_profile/output_path.h"

namespace fa_profile {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void CannotRead(const std::string& path) {
  // O_NOFOLLOW's results for a symbolic link, to a file and to a folder.
  const int code = errno;
  std::error_code ignored;
  if (code == ELOOP || (code == ENOTDIR && fs::is_symlink(path, ignored))) {
    throw Error(path + " is a symbolic link", "give the file itself");
  }
  throw Error(path + " cannot be read: " + std::strerror(code), "check the path and its permissions");
}

[[noreturn]] void CannotWrite(const std::string& path, int code) {
  if (code == ENXIO) throw Error(path + " cannot be written: no process reads it", "start the reader first");
  throw Error(path + " cannot be written: " + std::strerror(code),
              "check that its folder is writable, and that the disk is not full");
}

// The size that the open file claims to have.
std::uintmax_t RequireRegular(int fd, const std::string& path) {
  struct stat status {};
  if (fstat(fd, &status) != 0) CannotRead(path);
  if (S_ISDIR(status.st_mode)) throw Error(path + " is a directory", "give a file");
  if (!S_ISREG(status.st_mode)) throw Error(path + " is not a regular file", "give a file, not a pipe or a device");
  return static_cast<std::uintmax_t>(status.st_size);
}

// O_NONBLOCK: a named pipe is refused without waiting for it. The open file is checked, not the path, which may name
// another one a moment later.
Descriptor OpenWith(const std::string& path, int flags) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags));
  if (!file) CannotRead(path);
  (void)RequireRegular(file.get(), path);
  return file;
}

}  // namespace

Descriptor OpenFile(const std::string& path) { return OpenWith(path, 0); }

std::string ReadFile(const std::string& path, std::size_t most) {
  return ReadOpenFile(OpenWith(path, 0).get(), path, most);
}

std::string ReadPlainFile(const std::string& path, std::size_t most) {
  return ReadOpenFile(OpenWith(path, O_NOFOLLOW).get(), path, most);
}

std::string ReadOpenFile(int fd, const std::string& path, std::size_t most) {
  const auto require_at_most = [&](std::uintmax_t size) {
    if (size <= most) return;
    constexpr unsigned kMebi = 20;
    const std::string limit = most >> kMebi != 0 ? fmt::format("{} MiB", most >> kMebi) : fmt::format("{} bytes", most);
    throw Error(path + " is larger than " + limit, "check that it is the right file");
  };
  const std::uintmax_t claimed = RequireRegular(fd, path);
  require_at_most(claimed);
  std::string bytes(claimed + 1, '\0');  // the end is found without another allocation
  std::size_t done = 0;
  while (const std::size_t count = ReadSome(fd, path, std::span(bytes).subspan(done))) {
    done += count;
    require_at_most(done);
    // A file in /proc claims no size, and others may grow meanwhile.
    if (done == bytes.size()) bytes.resize(2 * done + 4096);
  }
  bytes.resize(done);
  return bytes;
}

std::size_t ReadSome(int fd, const std::string& path, std::span<char> buffer) {
  while (true) {
    const ssize_t count = read(fd, buffer.data(), buffer.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) CannotRead(path);
  }
}

PendingFile::PendingFile(std::string path, std::string_view content, unsigned mode) : path_(std::move(path)) {
  CheckOutputPath(path_);
  struct stat status {};
  int flags = O_WRONLY | O_CLOEXEC;
  if (stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    part_ = path_;        // a device or a pipe: a rename would replace it
    flags |= O_NONBLOCK;  // a pipe without a reader is an error, not a wait
  } else {
    // A new name each time: in a container every process may be number 1, and the file of a killed one must not block
    // the next.
    part_ =
        fmt::format("{}.part.{}.{:x}", path_, getpid(), std::chrono::system_clock::now().time_since_epoch().count());
    flags |= O_CREAT | O_EXCL | O_NOFOLLOW;  // never one that already exists, which may be a link
    removes_ = true;
  }
  file_ = Descriptor(open(part_.c_str(), flags, mode));
  if (!file_) {
    removes_ = false;
    CannotWrite(path_, errno);
  }
  if (!removes_) (void)fcntl(file_.get(), F_SETFL, flags & ~O_NONBLOCK);
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
