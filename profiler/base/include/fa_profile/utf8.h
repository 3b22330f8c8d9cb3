#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fa_profile {

/// A character of UTF-8. Not UTF-8: both are 0.
struct Utf8Character {
  std::uint32_t code_point = 0;
  std::size_t bytes = 0;
};

/// The character at the front of a text that is not empty. Overlong forms, surrogates and values above U+10FFFF are not
/// UTF-8 (Unicode 15, table 3-7).
Utf8Character DecodeUtf8(std::string_view text);

}  // namespace fa_profile
