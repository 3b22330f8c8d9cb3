#include "compression.h"

#include <zstd.h>

#include <algorithm>
#include <memory>

#include "fa_profile/error.h"

namespace fa_profile::store {
namespace {

// An image of ten ranges with set full (41.3 MB, H200): unchanged 14.1 MB at level 1, 11.4 MB at level 3, 3.4 MB at
// level 9 in 0.7 s; in byte planes 2.6 MB at level 3 in 0.1 s.
constexpr int kPlanesLevel = 3;

// The cubin of the `mma` rung (628 kB): 124 kB at level 3, 105 kB at level 9; in byte planes 188 kB at level 3.
constexpr int kAsGivenLevel = 9;

// Counter data is 64-bit words, most of them small: the upper bytes of all words together compress to almost nothing.
// So the frame holds byte 0 of every word, then byte 1 of every word, up to byte 7, then the incomplete last word
// (Parquet calls this BYTE_STREAM_SPLIT).
constexpr std::size_t kWordBytes = 8;

// Walks the bytes in the frame's order: each call returns the index of the frame's next byte.
class Walk {
 public:
  Walk(Order order, std::size_t size) : words_(order == Order::kPlanes ? size / kWordBytes : 0) {}
  std::size_t Next() {
    const std::size_t next = next_++;
    if (next >= words_ * kWordBytes) return next;  // the incomplete last word, or all bytes as given
    const std::size_t index = word_ * kWordBytes + plane_;
    if (++word_ == words_) {
      word_ = 0;
      ++plane_;
    }
    return index;
  }

 private:
  std::size_t words_;
  std::size_t next_ = 0;
  std::size_t word_ = 0;
  std::size_t plane_ = 0;  // byte in the word
};

// zstd's format (RFC 8878, 3.1.1.2): a block holds at most 128 KiB of content and takes at least a 3-byte header and
// one byte. This bounds the content of a frame of a given length.
constexpr std::size_t kMaxBlockContent = std::size_t{128} << 10;
constexpr std::size_t kMinBlockBytes = 4;

std::size_t Checked(const char* call, std::size_t result) {
  if (ZSTD_isError(result)) throw Error(call, ZSTD_getErrorName(result), "");
  return result;
}

}  // namespace

std::vector<std::uint8_t> Compress(std::span<const std::uint8_t> bytes, Order order) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  if (!context) throw Error("ZSTD_createCCtx", "", "out of memory");
  Checked("ZSTD_CCtx_setParameter", ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel,
                                                           order == Order::kPlanes ? kPlanesLevel : kAsGivenLevel));
  Checked("ZSTD_CCtx_setParameter", ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1));
  Checked("ZSTD_CCtx_setPledgedSrcSize", ZSTD_CCtx_setPledgedSrcSize(context.get(), bytes.size()));
  // In steps, because the planes, and the worst-case output of the one-call interface, would each be a second image.
  Walk walk(order, bytes.size());
  std::vector<std::uint8_t> planes(ZSTD_CStreamInSize());
  std::vector<std::uint8_t> frame;
  const std::size_t step = ZSTD_CStreamOutSize();
  std::size_t taken = 0;
  bool ended = false;
  while (!ended) {
    const std::size_t count = std::min(planes.size(), bytes.size() - taken);
    for (std::size_t i = 0; i < count; ++i) planes[i] = bytes[walk.Next()];
    taken += count;
    ZSTD_inBuffer input{planes.data(), count, 0};
    const ZSTD_EndDirective directive = taken == bytes.size() ? ZSTD_e_end : ZSTD_e_continue;
    for (bool more = true; more;) {
      const std::size_t start = frame.size();
      frame.resize(start + step);
      ZSTD_outBuffer output{frame.data() + start, step, 0};
      const std::size_t left =
          Checked("ZSTD_compressStream2", ZSTD_compressStream2(context.get(), &output, &input, directive));
      frame.resize(start + output.pos);
      more = directive == ZSTD_e_end ? left != 0 : input.pos < input.size;
      ended = directive == ZSTD_e_end && left == 0;
    }
  }
  return frame;
}

std::vector<std::uint8_t> Decompress(std::span<const std::uint8_t> frame, std::size_t size, Order order) {
  if (ZSTD_getFrameContentSize(frame.data(), frame.size()) != size ||
      ZSTD_isError(ZSTD_findFrameCompressedSize(frame.data(), frame.size())) ||
      ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size()) {
    throw Error("its frame is not one of " + std::to_string(size) + " bytes");
  }
  if (size / kMaxBlockContent > frame.size() / kMinBlockBytes) throw Error("its frame is too short for its content");
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  if (!context) throw Error("ZSTD_createDCtx", "", "out of memory");
  Walk walk(order, size);
  std::vector<std::uint8_t> bytes(size);
  std::vector<std::uint8_t> planes(ZSTD_DStreamOutSize());
  ZSTD_inBuffer input{frame.data(), frame.size(), 0};
  std::size_t filled = 0;
  for (std::size_t left = 1; left != 0;) {
    ZSTD_outBuffer output{planes.data(), planes.size(), 0};
    left = ZSTD_decompressStream(context.get(), &output, &input);
    if (ZSTD_isError(left)) throw Error(std::string("zstd says: ") + ZSTD_getErrorName(left));
    if (output.pos > size - filled) throw Error("its frame holds more than " + std::to_string(size) + " bytes");
    for (std::size_t i = 0; i < output.pos; ++i) bytes[walk.Next()] = planes[i];
    filled += output.pos;
    if (left != 0 && output.pos == 0 && input.pos == input.size) throw Error("its frame ends early");
  }
  if (filled != size) throw Error("its frame holds " + std::to_string(filled) + " bytes");
  return bytes;
}

}  // namespace fa_profile::store
