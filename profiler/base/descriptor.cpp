#include "fa_profile/descriptor.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "fa_profile/error.h"

namespace fa_profile {

void Descriptor::Close() noexcept {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

bool HasDescriptorsLeft(int count) noexcept {
  rlimit limit{};
  constexpr int kMost = 1 << 20;  // the kernel's own limit, for a process
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > kMost) return true;
  const int end = static_cast<int>(limit.rlim_cur);
  if (end <= 2 * count) count = end / 2;
  for (const int any : {STDERR_FILENO, STDOUT_FILENO, STDIN_FILENO}) {
    // Twice as many numbers: some program keeps a file at the very end.
    const Descriptor lowest(fcntl(any, F_DUPFD_CLOEXEC, end - 2 * count));
    if (lowest) return lowest.get() < end - count;
    if (errno != EBADF) return errno != EMFILE;
  }
  return static_cast<bool>(Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)));
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
