#include "fa_profile/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "fa_profile/utf8.h"

namespace fa_profile {
namespace {

struct Interval {
  std::uint32_t first;
  std::uint32_t last;
};

/// Characters that control a terminal, or hide or reorder text: C1 controls, soft hyphen, zero-width and bidirectional
/// marks, line and paragraph separators, byte order mark, tags, combining marks (they would pile up).
constexpr std::array kUnsafe{Interval{0x7F, 0x9F},      Interval{0xAD, 0xAD},     Interval{0x300, 0x36F},
                             Interval{0x61C, 0x61C},    Interval{0x180B, 0x180E}, Interval{0x200B, 0x200F},
                             Interval{0x2028, 0x202E},  Interval{0x2060, 0x206F}, Interval{0xFE00, 0xFE0F},
                             Interval{0xFEFF, 0xFEFF},  Interval{0xFFF0, 0xFFFB}, Interval{0x20D0, 0x20FF},
                             Interval{0xE0000, 0xE0FFF}};

/// East Asian wide characters and emoji: two columns.
constexpr std::array kWide{Interval{0x1100, 0x115F},  Interval{0x2E80, 0xA4CF},   Interval{0xAC00, 0xD7A3},
                           Interval{0xF900, 0xFAFF},  Interval{0xFE30, 0xFE6F},   Interval{0xFF00, 0xFF60},
                           Interval{0xFFE0, 0xFFE6},  Interval{0x1F300, 0x1F64F}, Interval{0x1F680, 0x1F9FF},
                           Interval{0x20000, 0x3FFFD}};

template <std::size_t kSize>
bool Contains(const std::array<Interval, kSize>& intervals, std::uint32_t code_point) {
  for (const auto& [first, last] : intervals) {
    if (code_point >= first && code_point <= last) return true;
  }
  return false;
}

constexpr const char* kReplacement = "\xEF\xBF\xBD";

/// Controls, soft hyphen, combining marks (they would pile up), zero-width and bidirectional marks, separators,
/// variation selectors, byte order mark, what XML does not allow, private use, tags.
constexpr std::array kUnsafeInLine{
    Interval{0x00, 0x1F},     Interval{0x7F, 0x9F},     Interval{0xAD, 0xAD},       Interval{0x300, 0x36F},
    Interval{0x61C, 0x61C},   Interval{0x115F, 0x1160}, Interval{0x180B, 0x180E},   Interval{0x200B, 0x200F},
    Interval{0x2028, 0x202E}, Interval{0x2060, 0x206F}, Interval{0x20D0, 0x20FF},   Interval{0x3164, 0x3164},
    Interval{0xE000, 0xF8FF}, Interval{0xFE00, 0xFE0F}, Interval{0xFEFF, 0xFEFF},   Interval{0xFFA0, 0xFFA0},
    Interval{0xFFF0, 0xFFFB}, Interval{0xFFFE, 0xFFFF}, Interval{0xE0000, 0x10FFFF}};

/// Characters that .NET, in which GitHub's runner is written, and browsers treat as a space.
bool IsSpace(std::uint32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

}  // namespace

std::string Printable(std::string_view text, bool ascii) {
  std::string safe;
  while (!text.empty()) {
    const auto [code_point, bytes] = DecodeUtf8(text);
    if (bytes == 0 || code_point < 0x20) {
      safe += fmt::format("\\x{:02X}", static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
      continue;
    }
    if (Contains(kUnsafe, code_point) || (ascii && code_point > 0x7F)) {
      safe += fmt::format("\\u{{{:X}}}", code_point);
    } else {
      safe += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return safe;
}

std::size_t DisplayWidth(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const auto [code_point, bytes] = DecodeUtf8(text);
    width += bytes != 0 && Contains(kWide, code_point) ? 2 : 1;
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return width;
}

std::string_view Prefix(std::string_view text, std::size_t width) {
  std::size_t used = 0;
  std::size_t end = 0;
  while (end < text.size()) {
    const auto [code_point, bytes] = DecodeUtf8(text.substr(end));
    used += bytes != 0 && Contains(kWide, code_point) ? 2 : 1;
    if (used > width) break;
    end += bytes == 0 ? 1 : bytes;
  }
  return text.substr(0, end);
}

std::string Truncate(std::string_view text, std::size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  const std::string_view ellipsis = std::string_view("...").substr(0, width);
  return std::string(Prefix(text, width - ellipsis.size())) + std::string(ellipsis);
}

std::string EscapeUnsafe(std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  while (!json.empty()) {
    const auto [code_point, bytes] = DecodeUtf8(json);
    const std::size_t length = std::max<std::size_t>(bytes, 1);
    if (!Contains(kUnsafe, code_point)) {
      safe += json.substr(0, length);
    } else if (code_point <= 0xFFFF) {
      safe += fmt::format("\\u{:04x}", code_point);
    } else {  // a surrogate pair (RFC 8259, section 7)
      const std::uint32_t rest = code_point - 0x10000;
      safe += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10U), 0xDC00 + (rest & 0x3FFU));
    }
    json.remove_prefix(length);
  }
  return safe;
}

std::string SafeLine(std::string_view text, std::size_t most) {
  std::vector<std::string> characters;
  while (!text.empty() && characters.size() <= most) {
    const auto [code_point, bytes] = DecodeUtf8(text);
    const std::size_t taken = std::max<std::size_t>(bytes, 1);
    if (bytes > 0 && IsSpace(code_point)) {
      characters.emplace_back(" ");
    } else {
      characters.emplace_back(Contains(kUnsafeInLine, code_point) ? kReplacement : text.substr(0, taken));
    }
    text.remove_prefix(taken);
  }
  const bool cut = characters.size() > most;
  if (cut) characters.resize(most - std::min<std::size_t>(most, 3));
  std::string line;
  for (const std::string& character : characters) line += character;
  if (cut) line += "...";
  return line;
}

std::string AlignColumns(const std::vector<std::vector<std::string>>& rows, std::string_view indent) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    text += indent;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) text += fmt::format("{:<{}}  ", row[i], widths[i]);
    text += row.back() + "\n";
  }
  return text;
}

std::uint64_t Fnv1a(std::string_view bytes, std::uint64_t hash) {
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return hash;
}

std::size_t CountCharacters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace fa_profile
