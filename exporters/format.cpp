#include "format.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>

#include "fa_profile/utf8.h"

namespace fa_profile {
namespace {

struct Interval {
  std::uint32_t first;
  std::uint32_t last;
};

/// Characters that a terminal obeys, hides or reorders text by: C1 controls, soft hyphen, zero-width and
/// bidirectional marks, line and paragraph separators, byte order mark, tags, combining marks (they would pile up).
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

/// `value` scaled to one of the steps of `names`, with three significant digits.
std::string Scaled(double value, std::string_view suffix) {
  constexpr std::array<std::string_view, 7> kPrefixes{"", "k", "M", "G", "T", "P", "E"};
  std::size_t step = 0;
  // 999.5 and more would print as 1000.
  while (std::abs(value) >= 999.5 && step + 1 < kPrefixes.size()) {
    value /= 1000.0;
    ++step;
  }
  const double size = std::abs(value);
  if (size >= 1e6) return fmt::format("{:.2e} {}{}", value, kPrefixes[step], suffix);
  const bool whole = step == 0 && value == std::floor(value);
  const int digits = whole || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  if (suffix.empty() && step == 0) return fmt::format("{:.{}f}", value, digits);
  return fmt::format("{:.{}f} {}{}", value, digits, kPrefixes[step], suffix);
}

std::string Seconds(double seconds) {
  constexpr std::array<std::string_view, 4> kUnits{"ns", "us", "ms", "s"};
  double value = seconds * 1e9;
  std::size_t step = 0;
  while (std::abs(value) >= 999.5 && step + 1 < kUnits.size()) {
    value /= 1000.0;
    ++step;
  }
  const double size = std::abs(value);
  if (size >= 1e6) return fmt::format("{:.2e} {}", value, kUnits[step]);
  return fmt::format("{:.{}f} {}", value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2, kUnits[step]);
}

std::string Percent(double ratio) {
  const double percent = ratio * 100.0;
  if (std::abs(percent) >= 1e5) return fmt::format("{:.1e} %", percent);
  return fmt::format("{:.{}f} %", percent, std::abs(percent) >= 99.95 ? 0 : 1);
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

std::string FormatValue(double value, std::string_view unit) {
  if (unit == "ratio") return Percent(value);
  if (unit == "seconds") return Seconds(value);
  if (unit == "bytes") return Scaled(value, "B");
  if (unit == "bytes_per_second") return Scaled(value, "B/s");
  if (unit == "flops") return Scaled(value, "FLOP");
  if (unit == "flops_per_second") return Scaled(value, "FLOP/s");
  if (unit == "flops_per_byte") return Scaled(value, "FLOP/B");
  if (unit == "hertz") return Scaled(value, "Hz");
  return Scaled(value, "");
}

std::string FormatValue(const std::optional<double>& value, std::string_view unit) {
  return value ? FormatValue(*value, unit) : "n/a";
}

std::string ShortPercent(const std::optional<double>& ratio) {
  if (!ratio) return "n/a";
  const double percent = *ratio * 100.0;
  if (std::abs(percent) >= 1000.0) return fmt::format("{:.0e}", percent);
  return std::abs(percent) < 9.95 ? fmt::format("{:.1f}", percent) : fmt::format("{:.0f}", percent);
}

}  // namespace fa_profile
