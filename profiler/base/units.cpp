#include "fa_profile/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace fa_profile {
namespace {

/// `value` scaled to one of the steps in `names`, with three significant digits.
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

std::string WholePercent(double ratio) {
  const double percent = ratio * 100.0;
  if (std::abs(percent) >= 1e5) return fmt::format("{:.1e} %", percent);
  return fmt::format("{:.{}f} %", percent, std::abs(percent) >= 99.95 ? 0 : 1);
}

}  // namespace

std::string FormatValue(double value, std::string_view unit) {
  if (unit == "ratio") return WholePercent(value);
  if (unit == "seconds") return Seconds(value);
  if (unit == "bytes") return Scaled(value, "B");
  if (unit == "bytes_per_second") return Scaled(value, "B/s");
  if (unit == "flops") return Scaled(value, "FLOP");
  if (unit == "flops_per_second") return Scaled(value, "FLOP/s");
  if (unit == "flops_per_byte") return Scaled(value, "FLOP/B");
  if (unit == "hertz") return Scaled(value, "Hz");
  return Scaled(value, "");
}

bool HasScaledUnit(std::string_view unit) {
  constexpr std::array<std::string_view, 8> kUnits{"ratio", "seconds",          "bytes",          "bytes_per_second",
                                                   "flops", "flops_per_second", "flops_per_byte", "hertz"};
  return std::ranges::find(kUnits, unit) != kUnits.end();
}

std::string FormatCount(double value) {
  const double size = std::abs(value);
  if (size >= 1e15) return fmt::format("{:.3g}", value);
  if (value != std::floor(value) && size < 1000.0) {
    return size < 0.01 ? fmt::format("{:.2g}", value)
                       : fmt::format("{:.{}f}", value,
                                     size >= 99.95   ? 0
                                     : size >= 9.995 ? 1
                                                     : 2);
  }
  std::string digits = fmt::format("{:.0f}", size);
  for (std::size_t i = digits.size(); i > 3;) digits.insert(i -= 3, 1, ',');
  return (value < 0.0 ? "-" : "") + digits;
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

std::string Percent(double ratio, int digits) { return fmt::format("{:.{}f} %", 100.0 * ratio, digits); }

std::string SignedPercent(double ratio, int digits) { return fmt::format("{:+.{}f} %", 100.0 * ratio, digits); }

}  // namespace fa_profile
