// For any bytes: what is found is inside them, what is unpacked is as large as announced, and each image is either read
// or has a reason.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/machine_code.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using fa_profile::sass::CodeImage;
  const fa_profile::sass::MachineCode code(std::span<const std::uint8_t>(data, size));
  for (const CodeImage& image : code.images()) {
    if (image.name.empty() || image.offset > size) std::abort();
    if (image.kind == CodeImage::Kind::kDamaged && image.unread.empty()) std::abort();
    if (!image.unread.empty() || image.bytes > (std::uint64_t{1} << 24)) continue;
    try {
      if (code.Read(image).size() != image.bytes) std::abort();
    } catch (const fa_profile::Error& error) {
      if (error.message().empty() || error.hint().empty()) std::abort();
    }
  }
  return 0;
}

extern "C" bool FuzzTargetAccepts(const std::uint8_t* data, std::size_t size) {
  const fa_profile::sass::MachineCode code(std::span<const std::uint8_t>(data, size));
  for (const fa_profile::sass::CodeImage& image : code.images()) {
    try {
      if (!image.unread.empty() || code.Read(image).empty()) return false;
    } catch (const fa_profile::Error&) {
      return false;
    }
  }
  return !code.images().empty();
}
