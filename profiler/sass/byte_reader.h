#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fa_profile::sass {

inline std::string_view Text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// "0x1f"
std::string Hex(std::uint64_t value);

/// Fills `buffer` with the bytes of an open file from `offset` on; returns their number, less than the buffer's size at
/// the end of the file. Throws Error that names `path`.
std::size_t ReadAt(int fd, const std::string& path, std::uint64_t offset, std::span<char> buffer);

/// Reads little-endian values from untrusted bytes. Reading past the end throws an Error: the cubin is damaged.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::size_t left() const { return bytes_.size() - position_; }
  std::uint8_t U8() { return static_cast<std::uint8_t>(Little(1)); }
  std::uint16_t U16() { return static_cast<std::uint16_t>(Little(2)); }
  std::uint32_t U32() { return static_cast<std::uint32_t>(Little(4)); }
  std::uint64_t U64() { return Little(8); }
  /// DWARF's variable-length integers. Bits above the 64th are dropped.
  std::uint64_t Uleb128();
  std::int64_t Sleb128();
  /// Text to the next zero byte, which is skipped.
  std::string_view Text();
  /// The next `size` bytes as a separate reader.
  ByteReader Take(std::uint64_t size);

 private:
  std::uint64_t Little(std::size_t size);
  std::span<const std::uint8_t> Bytes(std::uint64_t size);

  std::span<const std::uint8_t> bytes_;
  std::size_t position_ = 0;
};

}  // namespace fa_profile::sass
