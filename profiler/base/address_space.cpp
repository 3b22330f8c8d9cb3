#include "fa_profile/address_space.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace fa_profile {
namespace {

std::optional<std::int64_t> LimitOf(__rlimit_resource resource) noexcept {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, INT64_MAX));
}

}  // namespace

std::optional<std::int64_t> AddressSpaceLeft() noexcept {
  const std::optional<std::int64_t> all = LimitOf(RLIMIT_AS);
  const std::optional<std::int64_t> data = LimitOf(RLIMIT_DATA);
  if (!all && !data) return std::nullopt;
  // Without stdio, which allocates.
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::array<char, 128> text{};
  const ssize_t length = read(file, text.data(), text.size() - 1);
  (void)close(file);
  long long size_pages = 0;
  long long data_pages = 0;
  if (length <= 0 || std::sscanf(text.data(), "%lld %*d %*d %*d %*d %lld", &size_pages, &data_pages) != 2) {
    return std::nullopt;
  }
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  const std::int64_t left =
      std::min(all ? *all - size_pages * page : INT64_MAX, data ? *data - data_pages * page : INT64_MAX);
  return std::max<std::int64_t>(left, 0);
}

void AddressSpaceReserve::Take(std::size_t bytes) noexcept {
  if (place_ != nullptr || AddressSpaceLeft()) return;
  void* const place = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return;
  place_ = place;
  bytes_ = bytes;
}

void AddressSpaceReserve::Release() noexcept {
  if (place_ != nullptr) (void)munmap(place_, bytes_);
  place_ = nullptr;
}

}  // namespace fa_profile
