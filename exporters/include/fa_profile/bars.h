#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace fa_profile::exporters {

/// How bars and sparklines are drawn.
enum class Bars {
  kNone,
  kAscii,   ///< "####"
  kBlocks,  ///< Unicode blocks, in eighths of a column
};

/// A bar of `ratio` times `columns` columns, and blanks up to `columns`. A ratio above 1 fills them; NaN, and anything
/// not above 0, is blank. Anything above 0 gets at least the thinnest bar. Empty for Bars::kNone.
std::string Bar(double ratio, std::size_t columns, Bars bars);

/// One column per value, scaled between `least` and `most`, which has the full height. Values outside are clipped; NaN
/// is a blank. If `most` is not above `least` every column has the lowest height. Empty for Bars::kNone.
std::string Sparkline(std::span<const double> values, double least, double most, Bars bars);

}  // namespace fa_profile::exporters
