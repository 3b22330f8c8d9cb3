#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fa_profile::store {

/// What order a frame holds the bytes in.
enum class Order {
  kPlanes,  ///< byte 0 of every 64-bit word, then byte 1 of every word, and so on, then what is left of the last word
  kAsGiven,
};

/// One zstd frame, with its content size and a checksum, of `bytes` in this order. Uses the memory of the result and
/// about 1 MB more (kAsGiven: 10 MB).
/// Throws Error when zstd does (out of memory).
std::vector<std::uint8_t> Compress(std::span<const std::uint8_t> bytes, Order order = Order::kPlanes);

/// The bytes that Compress() made a frame of, exactly `size` of them. Throws Error, with the reason alone as its
/// message, for anything else: another size, a bad checksum, more than one frame. Allocates nothing that the frame
/// could not fill.
std::vector<std::uint8_t> Decompress(std::span<const std::uint8_t> frame, std::size_t size,
                                     Order order = Order::kPlanes);

}  // namespace fa_profile::store
