#pragma once

#include <cstddef>

namespace fa_profile::collect {

/// Bytes of this thread's stack below the caller; 0: it is on another stack, as in a signal handler.
std::size_t StackRoom() noexcept;

/// CUPTI needs about 200 KiB to begin or end a range (13.0, H100): a thread without that room must not measure.
inline constexpr std::size_t kLeastStackRoom = std::size_t{512} << 10U;

}  // namespace fa_profile::collect
