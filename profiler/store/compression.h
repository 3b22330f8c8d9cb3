#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fa_profile::store {

/// The order of the bytes in a frame.
enum class Order {
  kPlanes,  ///< byte 0 of every 64-bit word, then byte 1 of every word, and so on, then the incomplete last word
  kAsGiven,
};

/// `bytes` in this order as one zstd frame, with its content size and a checksum. Uses the memory of the result and
/// about 1 MB more (kAsGiven: 10 MB). Throws Error when zstd does (out of memory).
std::vector<std::uint8_t> Compress(std::span<const std::uint8_t> bytes, Order order = Order::kPlanes);

/// The bytes that Compress() made a frame from, exactly `size` of them. Throws Error, with only the reason as its
/// message, for anything else: another size, a bad checksum, more than one frame. Allocates nothing that the frame
/// could not fill.
std::vector<std::uint8_t> Decompress(std::span<const std::uint8_t> frame, std::size_t size,
                                     Order order = Order::kPlanes);

}  // namespace fa_profile::store
