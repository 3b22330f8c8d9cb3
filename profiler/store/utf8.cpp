#include "utf8.h"

#include <cstddef>

namespace fa_profile::store {
namespace {

// Length of the valid UTF-8 sequence at the front of `text` (Unicode 15, table 3-7), or 0 when there is none.
std::size_t SequenceLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto is_tail = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  const unsigned char lead = byte(0);
  if (lead == 0) return 0;
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || !is_tail(1)) return 0;
  if (lead < 0xE0) return 2;
  if (!is_tail(2)) return 0;
  if (lead < 0xF0) {
    const bool overlong = lead == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = lead == 0xED && byte(1) >= 0xA0;
    return overlong || surrogate ? 0 : 3;
  }
  if (!is_tail(3) || lead > 0xF4) return 0;
  const bool overlong = lead == 0xF0 && byte(1) < 0x90;
  const bool beyond = lead == 0xF4 && byte(1) >= 0x90;
  return overlong || beyond ? 0 : 4;
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
