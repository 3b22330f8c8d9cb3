#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace fa_profile::exporters {

/// How bars and sparklines are drawn.
enum class Bars {
  kNone,
  kAscii,   ///< "####"
  kBlocks,  ///< blocks of Unicode, in eighths of a column
};

/// A bar of `ratio` of `columns` columns, and blanks up to `columns`. A ratio above 1 fills them; one that is not a
/// number, or not above 0, is blank. Whatever is above 0 is at least the thinnest bar. Empty for Bars::kNone.
std::string Bar(double ratio, std::size_t columns, Bars bars);

/// One column a value, as high as the value between `least` and `most`, which has the full height. Values outside are
/// clipped; one that is not a number is a blank. Where `most` is not above `least` every column has the lowest height.
/// Empty for Bars::kNone.
std::string Sparkline(std::span<const double> values, double least, double most, Bars bars);

}  // namespace fa_profile::exporters
