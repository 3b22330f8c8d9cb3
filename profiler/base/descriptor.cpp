#include "fa_profile/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "fa_profile/error.h"

namespace fa_profile {

void Descriptor::Close() noexcept {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

Pipe MakePipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw Error("pipe2", std::strerror(errno), "cannot create a pipe to a child process");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

bool WriteAll(int fd, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace fa_profile
