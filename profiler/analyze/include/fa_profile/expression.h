#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fa_profile::analyze {

/// Value of a name, or nothing when it is not known.
using Lookup = std::function<std::optional<double>(const std::string& name)>;

/// A formula of the metric catalogue, parsed once and evaluated many times.
///
///   formula     := sum { "|" sum }                 the first alternative that has a value
///   sum         := product { ("+" | "-") product }
///   product     := factor { ("*" | "/") factor }
///   factor      := "-" factor | number | name | ("min" | "max") "(" sum { "," sum } ")" | "(" sum ")"
///   name        := letter { letter | digit | "_" | "." }
///
/// Evaluation never invents a number: a name without a value, a division by zero and a result that is not finite all
/// give nothing.
///
///   const Expression formula("dram__bytes.sum / timing.median | launch.bytes");
///   const std::optional<double> value = formula.Evaluate([&](const std::string& name) { return Find(name); });
class Expression {
 public:
  /// Throws Error with the position of the first character that does not fit.
  explicit Expression(std::string_view formula);

  std::optional<double> Evaluate(const Lookup& lookup) const;

 private:
  // Reverse Polish notation: values push, operators pop. It needs no tree of owned nodes.
  enum class Op { kNumber, kName, kAdd, kSubtract, kMultiply, kDivide, kNegate, kMin, kMax };
  struct Step {
    Op op;
    double number = 0.0;
    std::string name;
  };
  using Program = std::vector<Step>;
  class Parser;

  static std::optional<double> Run(const Program& program, const Lookup& lookup);

  std::vector<Program> alternatives_;
};

}  // namespace fa_profile::analyze
