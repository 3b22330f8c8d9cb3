#include "byte_reader.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "fa_profile/error.h"

namespace fa_profile::sass {

std::string Hex(std::uint64_t value) {
  std::array<char, 16> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, /*base=*/16).ptr;
  return "0x" + std::string(text.data(), end);
}

std::size_t ReadAt(int fd, const std::string& path, std::uint64_t offset, std::span<char> buffer) {
  std::size_t got = 0;
  while (got < buffer.size()) {
    const ssize_t part = ::pread(fd, buffer.data() + got, buffer.size() - got, static_cast<off_t>(offset + got));
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) throw Error(path + " cannot be read: " + std::strerror(errno));
    if (part == 0) break;
    got += static_cast<std::size_t>(part);
  }
  return got;
}

std::span<const std::uint8_t> ByteReader::Bytes(std::uint64_t size) {
  if (size > left()) {
    throw Error("the cubin is damaged: it ends too early", "build it again, or copy it again");
  }
  const auto bytes = bytes_.subspan(position_, size);
  position_ += size;
  return bytes;
}

std::uint64_t ByteReader::Little(std::size_t size) {
  std::uint64_t value = 0;
  const auto bytes = Bytes(size);
  for (std::size_t i = 0; i < size; ++i) value |= std::uint64_t{bytes[i]} << (8 * i);
  return value;
}

std::uint64_t ByteReader::Uleb128() {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const std::uint8_t byte = U8();
    if (shift < 64) value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
}

std::int64_t ByteReader::Sleb128() {
  std::uint64_t value = 0;
  for (unsigned shift = 0;;) {
    const std::uint8_t byte = U8();
    if (shift < 64) value |= std::uint64_t{byte & 0x7fu} << shift;
    shift += 7;
    if (byte >= 0x80) continue;
    if (shift < 64 && (byte & 0x40) != 0) value |= ~std::uint64_t{0} << shift;
    return static_cast<std::int64_t>(value);
  }
}

std::string_view ByteReader::Text() {
  const auto rest = bytes_.subspan(position_);
  const auto size = static_cast<std::size_t>(std::find(rest.begin(), rest.end(), 0) - rest.begin());
  const auto text = Bytes(size + 1);  // one past the end if the zero is missing
  return {reinterpret_cast<const char*>(text.data()), size};
}

ByteReader ByteReader::Take(std::uint64_t size) { return ByteReader(Bytes(size)); }

}  // namespace fa_profile::sass
