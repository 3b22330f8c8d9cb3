#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace fa_profile {

/// Owns a file descriptor.
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

 private:
  int fd_;
};

struct Listener {
  Descriptor socket;  ///< non-blocking, listening
  std::uint16_t port = 0;
  bool loopback = false;  ///< only this machine reaches it
};

/// Listens on the first address that `address` stands for; empty: on all interfaces. Port 0: any free one. Throws
/// Error.
Listener Listen(const std::string& address, std::uint16_t port);

}  // namespace fa_profile
