#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fa_profile {

/// A value with its unit in readable form: "9.92 us", "54.1 TFLOP/s", "12.5 %", "1.31 M". `unit` is one of the metric
/// catalogue's: ratio, seconds, bytes, bytes_per_second, flops, flops_per_second, flops_per_byte, hertz; any other is a
/// plain count. "n/a" if absent.
std::string FormatValue(double value, std::string_view unit);
std::string FormatValue(const std::optional<double>& value, std::string_view unit);

/// Whether FormatValue() writes a unit for it; all others are plain counts.
bool HasScaledUnit(std::string_view unit);

/// A count with all its digits: "1,310,720"; below 1000 with three significant digits.
std::string FormatCount(double value);

/// A ratio in per cent for a narrow column: "12", "3.1", "n/a".
std::string ShortPercent(const std::optional<double>& ratio);

/// A ratio in per cent: "12.5 %", "+3.2 %" (signed). `digits`: decimals.
std::string Percent(double ratio, int digits = 1);
std::string SignedPercent(double ratio, int digits = 1);

}  // namespace fa_profile
