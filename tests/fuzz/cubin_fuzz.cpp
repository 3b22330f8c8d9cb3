// Bytes that are not a cubin give an Error with a hint and nothing else: no crash, no endless loop, no memory without
// bound. What is read lies inside the file.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "fa_profile/code_outline.h"
#include "fa_profile/cubin.h"
#include "fa_profile/error.h"
#include "fa_profile/line_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  try {
    const fa_profile::sass::CubinInfo info = fa_profile::sass::ReadCubin(bytes);
    const fa_profile::sass::LineTable lines(bytes);
    for (const fa_profile::sass::CubinFunction& function : info.functions) {
      if (function.code_bytes > size) std::abort();
      if (fa_profile::sass::HasOutline(info.sm)) {
        fa_profile::sass::ReadOutline(bytes, {function.name}, [&](const fa_profile::DeviceFunction& outline) {
          if (outline.instructions.size() > size / 16) std::abort();
        });
      }
      for (std::uint64_t offset = 0; offset < function.code_bytes && offset < 4096; offset += 16) {
        lines.Frames(function.name, offset);
      }
    }
  } catch (const fa_profile::Error& error) {
    if (error.message().empty() || error.hint().empty()) std::abort();
  }
  return 0;
}

extern "C" bool FuzzTargetAccepts(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  try {
    return !fa_profile::sass::ReadCubin(bytes).functions.empty() && !fa_profile::sass::LineTable(bytes).empty();
  } catch (const fa_profile::Error&) {
    return false;
  }
}
