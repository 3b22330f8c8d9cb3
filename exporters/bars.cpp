#include "fa_profile/bars.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace fa_profile::exporters {
namespace {

// U+258F to U+2588: one eighth to eight, from the left.
constexpr std::array<std::string_view, 8> kEighths{"\u258F", "\u258E", "\u258D", "\u258C",
                                                   "\u258B", "\u258A", "\u2589", "\u2588"};
// U+2581 to U+2588: one eighth to eight, from the bottom.
constexpr std::array<std::string_view, 8> kHeights{"\u2581", "\u2582", "\u2583", "\u2584",
                                                   "\u2585", "\u2586", "\u2587", "\u2588"};
constexpr std::array<std::string_view, 5> kAsciiHeights{"_", ".", "-", "=", "#"};

/// `ratio` of `steps` steps, rounded; at least 1 for anything above 0.
std::size_t StepsOf(double ratio, std::size_t steps) {
  if (!(ratio > 0.0) || steps == 0) return 0;
  const double scaled = std::round(std::min(ratio, 1.0) * static_cast<double>(steps));
  return std::max<std::size_t>(1, static_cast<std::size_t>(scaled));
}

std::string_view HeightOf(double ratio, std::span<const std::string_view> heights) {
  if (std::isnan(ratio)) return " ";
  const double step = std::clamp(ratio, 0.0, 1.0) * static_cast<double>(heights.size() - 1);
  return heights[static_cast<std::size_t>(std::round(step))];
}

}  // namespace

std::string Bar(double ratio, std::size_t columns, Bars bars) {
  if (bars == Bars::kNone) return {};
  const std::size_t of_a_column = bars == Bars::kAscii ? 1 : kEighths.size();
  const std::size_t steps = StepsOf(ratio, columns * of_a_column);
  std::string bar;
  for (std::size_t i = 0; i < steps / of_a_column; ++i) bar += bars == Bars::kAscii ? "#" : kEighths.back();
  std::size_t used = steps / of_a_column;
  if (const std::size_t rest = steps % of_a_column; rest > 0) {
    bar += kEighths[rest - 1];
    ++used;
  }
  return bar + std::string(columns - used, ' ');
}

std::string Sparkline(std::span<const double> values, double least, double most, Bars bars) {
  if (bars == Bars::kNone) return {};
  std::string line;
  for (const double value : values) {
    const double ratio = std::isnan(value) || most > least ? (value - least) / (most - least) : 0.0;
    line += bars == Bars::kAscii ? HeightOf(ratio, kAsciiHeights) : HeightOf(ratio, kHeights);
  }
  return line;
}

}  // namespace fa_profile::exporters
