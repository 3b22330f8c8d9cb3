// Text that is not what nvdisasm -json prints gives an Error with a hint and nothing else. The instructions of what is
// taken follow each other every 16 bytes.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fa_profile/disassembly.h"
#include "fa_profile/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    for (const auto& function : fa_profile::sass::ParseNvdisasmJson({reinterpret_cast<const char*>(data), size})) {
      std::uint32_t expected = 0;
      for (const fa_profile::Instruction& instruction : function.instructions) {
        if (instruction.offset != expected || !instruction.frames.empty()) std::abort();
        expected += 16;
      }
    }
  } catch (const fa_profile::Error& error) {
    if (error.message().empty() || error.hint().empty()) std::abort();
  }
  return 0;
}

extern "C" bool FuzzTargetAccepts(const std::uint8_t* data, std::size_t size) {
  try {
    return !fa_profile::sass::ParseNvdisasmJson({reinterpret_cast<const char*>(data), size}).empty();
  } catch (const fa_profile::Error&) {
    return false;
  }
}
