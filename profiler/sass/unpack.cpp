#include "unpack.h"

#include <zstd.h>

#include <algorithm>
#include <memory>

#include "fa_profile/error.h"

namespace fa_profile::sass {
namespace {

[[noreturn]] void RefuseDamaged() {
  throw Error("its compressed bytes are damaged", "build the file again, or copy it again");
}

/// An LZ4 block: sequences of literals, and of a match with earlier output.
class Lz4Block {
 public:
  explicit Lz4Block(std::span<const std::uint8_t> packed) : packed_(packed) {}

  bool AtEnd() const { return at_ == packed_.size(); }
  std::uint8_t Byte() {
    if (AtEnd()) RefuseDamaged();
    return packed_[at_++];
  }
  /// Four bits of the token, and more bytes if these are all set.
  std::uint64_t Length(unsigned bits) {
    std::uint64_t length = bits;
    if (bits < 15) return length;
    for (;;) {
      const std::uint8_t more = Byte();
      length += more;
      if (more < 255) return length;
    }
  }
  std::span<const std::uint8_t> Literals(std::uint64_t size) {
    if (size > packed_.size() - at_) RefuseDamaged();
    const auto literals = packed_.subspan(at_, size);
    at_ += size;
    return literals;
  }

 private:
  std::span<const std::uint8_t> packed_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<std::uint8_t> UnpackLz4(std::span<const std::uint8_t> packed, std::uint64_t size, std::uint64_t most) {
  most = std::min(most, size);
  std::vector<std::uint8_t> bytes;
  Lz4Block block(packed);
  while (bytes.size() < most) {
    const unsigned token = block.Byte();
    const std::uint64_t literals = block.Length(token >> 4);
    if (literals > size - bytes.size()) RefuseDamaged();
    const auto copied = block.Literals(literals);
    bytes.insert(bytes.end(), copied.begin(), copied.end());
    if (block.AtEnd() || bytes.size() >= most) break;  // a block ends with literals
    const std::uint64_t low = block.Byte();
    const std::uint64_t distance = low | std::uint64_t{block.Byte()} << 8;
    const std::uint64_t length = block.Length(token & 15) + 4;
    if (distance == 0 || distance > bytes.size() || length > size - bytes.size()) RefuseDamaged();
    for (std::uint64_t i = 0; i < length; ++i) bytes.push_back(bytes[bytes.size() - distance]);
  }
  if (bytes.size() < most || (most == size && !block.AtEnd())) RefuseDamaged();
  bytes.resize(most);
  return bytes;
}

std::vector<std::uint8_t> UnpackZstd(std::span<const std::uint8_t> packed, std::uint64_t size, std::uint64_t most) {
  most = std::min(most, size);
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  if (!context) throw Error("ZSTD_createDCtx", "", "out of memory");
  std::vector<std::uint8_t> bytes;
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  std::vector<std::uint8_t> part(ZSTD_DStreamOutSize());
  for (;;) {
    ZSTD_outBuffer out{part.data(), part.size(), 0};
    const std::size_t left = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(left) != 0 || out.pos > size - bytes.size()) RefuseDamaged();
    bytes.insert(bytes.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(out.pos));
    if (left == 0 || (most < size && bytes.size() >= most)) break;
    if (out.pos == 0 && in.pos == in.size) RefuseDamaged();  // it needs bytes that are not there
  }
  if (bytes.size() < most || (most == size && bytes.size() != size)) RefuseDamaged();
  bytes.resize(most);
  return bytes;
}

}  // namespace fa_profile::sass
