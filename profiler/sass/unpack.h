#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fa_profile::sass {

/// The first `most` bytes of what an LZ4 block (without a frame around it) or a zstd frame holds, which must be `size`
/// in all: nothing beyond is unpacked, and memory grows with what was. Throws Error: it is damaged, or holds less or
/// more. Where `most` is less than `size`, `packed` may end early.
std::vector<std::uint8_t> UnpackLz4(std::span<const std::uint8_t> packed, std::uint64_t size, std::uint64_t most);
std::vector<std::uint8_t> UnpackZstd(std::span<const std::uint8_t> packed, std::uint64_t size, std::uint64_t most);

}  // namespace fa_profile::sass
