#include "compression.h"

#include <zstd.h>

#include <algorithm>
#include <memory>

#include "fa_profile/error.h"

namespace fa_profile::store {
namespace {

// Counter data is nearly all zeros: a higher level took longer and saved little (docs/recording.md has the numbers).
constexpr int kLevel = 1;

// zstd's format (RFC 8878, 3.1.1.2): a block holds at most 128 KiB of content and takes at least a 3-byte header and
// one byte. It bounds what a frame of a given length can hold.
constexpr std::size_t kMaxBlockContent = std::size_t{128} << 10;
constexpr std::size_t kMinBlockBytes = 4;

std::size_t Checked(const char* call, std::size_t result) {
  if (ZSTD_isError(result)) throw Error(call, ZSTD_getErrorName(result), "");
  return result;
}

}  // namespace

std::vector<std::uint8_t> Compress(std::span<const std::uint8_t> bytes) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  if (!context) throw Error("ZSTD_createCCtx", "", "out of memory");
  Checked("ZSTD_CCtx_setParameter", ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel));
  Checked("ZSTD_CCtx_setParameter", ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1));
  Checked("ZSTD_CCtx_setPledgedSrcSize", ZSTD_CCtx_setPledgedSrcSize(context.get(), bytes.size()));
  // In steps, because the worst-case output buffer of the one-call interface would be a second image.
  std::vector<std::uint8_t> frame;
  ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
  const std::size_t step = ZSTD_CStreamOutSize();
  for (std::size_t left = 1; left != 0;) {
    const std::size_t start = frame.size();
    frame.resize(start + step);
    ZSTD_outBuffer output{frame.data() + start, step, 0};
    left = Checked("ZSTD_compressStream2", ZSTD_compressStream2(context.get(), &output, &input, ZSTD_e_end));
    frame.resize(start + output.pos);
  }
  return frame;
}

std::vector<std::uint8_t> Decompress(std::span<const std::uint8_t> frame, std::size_t size) {
  if (ZSTD_getFrameContentSize(frame.data(), frame.size()) != size ||
      ZSTD_isError(ZSTD_findFrameCompressedSize(frame.data(), frame.size())) ||
      ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size()) {
    throw Error("its frame is not one of " + std::to_string(size) + " bytes");
  }
  if (size / kMaxBlockContent > frame.size() / kMinBlockBytes) throw Error("its frame is too short for its content");
  std::vector<std::uint8_t> bytes(size);
  const std::size_t result = ZSTD_decompress(bytes.data(), bytes.size(), frame.data(), frame.size());
  if (ZSTD_isError(result)) throw Error(std::string("zstd says: ") + ZSTD_getErrorName(result));
  if (result != size) throw Error("its frame holds " + std::to_string(result) + " bytes");
  return bytes;
}

}  // namespace fa_profile::store
