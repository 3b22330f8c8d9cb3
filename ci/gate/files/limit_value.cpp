#include "limit_value.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace fa_profile::gate {
namespace {

struct Suffix {
  std::string_view text;
  double per_unit;  // how many make one base unit: an exact number, so division rounds once
  Quantity quantity;
};
constexpr std::array kSuffixes = {
    Suffix{"%", 100.0, Quantity::kShare},        Suffix{"ns", 1e9, Quantity::kSeconds},
    Suffix{"us", 1e6, Quantity::kSeconds},       Suffix{"ms", 1e3, Quantity::kSeconds},
    Suffix{"s", 1.0, Quantity::kSeconds},        Suffix{"B", 1.0, Quantity::kBytes},
    Suffix{"KiB", 1.0 / 1024, Quantity::kBytes}, Suffix{"MiB", 1.0 / 1048576, Quantity::kBytes},
};

constexpr double kLargest = 1e18;
constexpr double kLargestGrowth = 100.0;

const char* Example(Quantity quantity) {
  switch (quantity) {
    case Quantity::kShare:
      return "write a share as 25% or 0.25";
    case Quantity::kGrowth:
      return "write growth as 2% or 0.02";
    case Quantity::kSeconds:
      return "write a time with its unit: 500ns, 10us, 2ms, 1s";
    case Quantity::kBytes:
      return "write bytes as 512, 48KiB or 2MiB";
    case Quantity::kPlain:
      break;
  }
  return "write a number without a unit: 8 or 0.5";
}

bool TakesSuffix(Quantity quantity, const Suffix& suffix) {
  return suffix.quantity == quantity || (quantity == Quantity::kGrowth && suffix.quantity == Quantity::kShare);
}

}  // namespace

Quantity QuantityOf(std::string_view unit) {
  return unit == "ratio"     ? Quantity::kShare
         : unit == "seconds" ? Quantity::kSeconds
         : unit == "bytes"   ? Quantity::kBytes
                             : Quantity::kPlain;
}

double ReadLimit(const StrictYaml& yaml, const YAML::Node& node, const std::string& what, Quantity quantity) {
  const std::string hint = Example(quantity);
  const std::string text = node.IsScalar() ? node.Scalar() : "";
  if (text.starts_with('-')) yaml.Fail(node, fmt::format("{} is negative: {}", what, Quoted(text)), hint);
  // As in JSON, but without a sign: hexadecimal and octal numbers and words are not numbers.
  static const RE2 kNumber(R"(((?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)(.*))");
  std::string number;
  std::string unit;
  const bool is_number = RE2::FullMatch(text, kNumber, &number, &unit);
  const auto* const suffix = std::ranges::find(kSuffixes, unit, &Suffix::text);
  const bool has_unit = !unit.empty();
  double value = 0.0;
  const bool fits = is_number && (has_unit ? suffix != kSuffixes.end() : IsPlain(node)) &&
                    std::from_chars(number.data(), number.data() + number.size(), value).ec == std::errc{};
  // "1e2%" is hard to read; other readers of the file take "0.5" in quotes for text.
  if (!fits || (has_unit && number.find_first_of("eE") != std::string::npos)) {
    yaml.Fail(node, fmt::format("{} must be a number, not {}", what, Quoted(text)), hint);
  }
  if (has_unit && !TakesSuffix(quantity, *suffix)) {
    yaml.Fail(node, fmt::format("{} is in the wrong unit: {}", what, Quoted(text)), hint);
  }
  const bool of_one = quantity == Quantity::kShare || quantity == Quantity::kGrowth;
  if (!has_unit && of_one && value > 1.0) {
    yaml.Fail(node, fmt::format("{} is {}, which is {:.6g} %", what, text, 100.0 * value),
              fmt::format("did you mean {}%?", text));
  }
  if (!has_unit && quantity == Quantity::kSeconds && value != 0.0) {
    yaml.Fail(node, fmt::format("{} has no unit: {}", what, text), hint);
  }
  if (has_unit) value /= suffix->per_unit;
  const double largest = quantity == Quantity::kShare    ? 1.0
                         : quantity == Quantity::kGrowth ? kLargestGrowth
                         : has_unit                      ? kLargest / suffix->per_unit
                                                         : kLargest;
  if (value > largest) {
    yaml.Fail(node, fmt::format("{} is too large: {}", what, Quoted(text)),
              of_one ? fmt::format("use at most {:g}%", 100.0 * largest) : "use at most 1e18");
  }
  return value;
}

std::string LimitText(double value, Quantity quantity, std::string_view unit) {
  switch (quantity) {
    case Quantity::kShare:
    case Quantity::kGrowth:
      return fmt::format("{:.6g} %", 100.0 * value);
    case Quantity::kSeconds: {
      // In the largest unit in which it is at least 1.
      const double nanoseconds = value * 1e9;
      if (value == 0.0 || value >= 1.0) return fmt::format("{:.6g} s", value);
      if (value >= 1e-3) return fmt::format("{:.6g} ms", value * 1e3);
      return value >= 1e-6 ? fmt::format("{:.6g} us", value * 1e6) : fmt::format("{:.6g} ns", nanoseconds);
    }
    case Quantity::kBytes:
      if (value >= 1048576.0) return fmt::format("{:.6g} MiB", value / 1048576.0);
      return value >= 1024.0 ? fmt::format("{:.6g} KiB", value / 1024.0) : fmt::format("{:.6g} bytes", value);
    case Quantity::kPlain:
      break;
  }
  std::string words(unit);
  std::ranges::replace(words, '_', ' ');
  return words.empty() || words == "count" ? fmt::format("{:.6g}", value) : fmt::format("{:.6g} {}", value, words);
}

}  // namespace fa_profile::gate
