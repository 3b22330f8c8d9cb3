#pragma once

#include <cstddef>
#include <optional>

namespace fa_profile::collect {

/// Bytes left on this thread's stack below the caller; absent: it runs on another stack, as coroutines do.
std::optional<std::size_t> StackRoom() noexcept;

/// A thread with less room must not measure. CUPTI 13.0 overflows a stack of 192 KiB while it samples, but not one of
/// 256 KiB (H100); a range's need was not measured, hence twice as much.
inline constexpr std::size_t kLeastStackRoom = std::size_t{512} << 10U;

}  // namespace fa_profile::collect
