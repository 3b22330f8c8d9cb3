#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fa_profile::sass {

/// The first `most` bytes in an LZ4 block (without a frame around it) or a zstd frame, which must contain `size` in
/// all: nothing beyond is unpacked, and memory grows with the output. Throws Error: it is damaged, or contains less or
/// more. If `most` is less than `size`, `packed` may end early.
std::vector<std::uint8_t> UnpackLz4(std::span<const std::uint8_t> packed, std::uint64_t size, std::uint64_t most);
std::vector<std::uint8_t> UnpackZstd(std::span<const std::uint8_t> packed, std::uint64_t size, std::uint64_t most);

}  // namespace fa_profile::sass
