// Shapes as users and kernel libraries write them. What is read is printed and read again; extents are positive.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/extents.h"
#include "fa_profile/shape.h"

namespace fa_profile {
namespace {

void ReadShape(std::string_view text) {
  try {
    const Shape shape = Shape::Parse(text);
    if (Shape::Parse(shape.ToString()) != shape) std::abort();
  } catch (const Error&) {  // what most texts are
  }
}

void ReadExtents(std::string_view text) {
  static const std::vector<ShapeParameter> parameters = {{"m", 4096}, {"n", -3}, {"zero", 0}, {"most", INT64_MAX}};
  try {
    for (const std::int64_t extent : ExtentsOf(text, parameters)) {
      if (extent < 1) std::abort();
    }
  } catch (const Error&) {
  }
}

}  // namespace
}  // namespace fa_profile

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kLongest = 256;  // FA_PROFILE_LONGEST_TEXT
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fa_profile::ReadShape(text);
  fa_profile::ReadExtents(text.substr(0, kLongest));
  return 0;
}
