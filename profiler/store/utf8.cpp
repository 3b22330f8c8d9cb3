#include "utf8.h"

#include <cstddef>

#include "fa_profile/utf8.h"

namespace fa_profile::store {
namespace {

// Bytes of the character at the front of `text`, or 0 when it is none that a recording's text may have.
std::size_t SequenceLength(std::string_view text) {
  const Utf8Character character = DecodeUtf8(text);
  return character.code_point == 0 ? 0 : character.bytes;
}

}  // namespace

bool IsText(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string ToText(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const std::size_t length = SequenceLength(text);
    clean += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return clean;
}

}  // namespace fa_profile::store
