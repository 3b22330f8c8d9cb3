#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace fa_profile {

/// Bytes that this process may still map under RLIMIT_AS and RLIMIT_DATA; absent: there is no limit, or the process's
/// size cannot be read. Allocates nothing.
std::optional<std::int64_t> AddressSpaceLeft() noexcept;

/// Address space, without memory, that is kept for when a process limits itself. One thread at a time.
class AddressSpaceReserve {
 public:
  AddressSpaceReserve() = default;
  ~AddressSpaceReserve() { Release(); }
  AddressSpaceReserve(const AddressSpaceReserve&) = delete;
  AddressSpaceReserve& operator=(const AddressSpaceReserve&) = delete;

  /// Once. Keeps nothing if the process is already limited.
  void Take(std::size_t bytes) noexcept;
  void Release() noexcept;

 private:
  void* place_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace fa_profile
