#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace fa_profile {

/// `text` made safe for a terminal and a file: control characters, characters that reorder or hide text, and invalid
/// UTF-8 are escaped as \xNN or \u{NNNN}; with `ascii` every other character that is not ASCII is, too.
std::string Printable(std::string_view text, bool ascii = false);

/// Columns that printable UTF-8 takes on a terminal.
std::size_t DisplayWidth(std::string_view text);

/// The longest prefix of at most `width` columns.
std::string_view Prefix(std::string_view text, std::size_t width);

/// `text`, or a prefix and "..." where it is wider than `width` columns.
std::string Truncate(std::string_view text, std::size_t width);

/// A value with its unit as a person reads it: "9.92 us", "54.1 TFLOP/s", "12.5 %", "1.31 M". `unit` as in the
/// catalogue.
std::string FormatValue(double value, std::string_view unit);
std::string FormatValue(const std::optional<double>& value, std::string_view unit);

/// A ratio in per cent for a column that is read at a glance: "12", "3.1", "n/a".
std::string ShortPercent(const std::optional<double>& ratio);

}  // namespace fa_profile
