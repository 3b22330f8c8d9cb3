#pragma once

#include <cstddef>
#include <optional>

namespace fa_profile::collect {

/// Bytes of this thread's stack below the caller; absent: it runs on another stack, as coroutines do.
std::optional<std::size_t> StackRoom() noexcept;

/// CUPTI needs about 200 KiB to begin or end a range (13.0, H100): a thread without that room must not measure.
inline constexpr std::size_t kLeastStackRoom = std::size_t{512} << 10U;

}  // namespace fa_profile::collect
