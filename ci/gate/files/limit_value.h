#pragma once

#include <string>
#include <string_view>

#include "fa_profile/strict_yaml.h"

namespace fa_profile::gate {

/// What kind of number a limit is.
enum class Quantity {
  kShare,    ///< 0 to 1: "25%", 0.25
  kGrowth,   ///< relative to the base's value: "2%", "150%", 0.02
  kSeconds,  ///< "10us"; a number without unit can only be 0
  kBytes,    ///< 512, "48KiB"
  kPlain,    ///< 8
};

/// Kind of values for a metric with this unit.
Quantity QuantityOf(std::string_view unit);

/// A finite number of at least 0 in the unit of its kind, converted to base units (shares, seconds, bytes). Throws
/// Error at the node, with what to write instead.
double ReadLimit(const StrictYaml& yaml, const YAML::Node& node, const std::string& what, Quantity quantity);

/// As accepted by ReadLimit(), with a blank before the unit: "25 %", "1.5 us", "48 KiB", "8 registers" if that is
/// `unit`.
std::string LimitText(double value, Quantity quantity, std::string_view unit = {});

}  // namespace fa_profile::gate
