#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace fa_profile {

/// Owns a file descriptor; -1 is none.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { Close(); }

  void Close() noexcept;
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_;
};

/// Whether this process may open `count` more files, as far as RLIMIT_NOFILE and one look at the numbers below it show.
/// Takes a number near the limit for a moment: files that the program opens keep their numbers.
bool HasDescriptorsLeft(int count) noexcept;

/// Both ends of a pipe. A child process inherits neither.
struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};

/// Throws Error.
Pipe MakePipe();

/// Writes all of `bytes`, however many calls that takes. False, with errno, when it cannot.
bool WriteAll(int fd, std::string_view bytes) noexcept;

}  // namespace fa_profile
