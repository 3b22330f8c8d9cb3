#include "fa_profile/expression.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "fa_profile/error.h"

namespace fa_profile::analyze {

/// Recursive descent; each rule appends its steps in evaluation order.
class Expression::Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::vector<Program> Formula() {
    std::vector<Program> alternatives;
    do {
      program_.clear();
      Sum();
      alternatives.push_back(std::exchange(program_, {}));
    } while (Take('|'));
    if (position_ != text_.size()) Fail("an operator");
    return alternatives;
  }

 private:
  void Sum() { LeftToRight(&Parser::Product, {{{'+', Op::kAdd}, {'-', Op::kSubtract}}}); }
  void Product() { LeftToRight(&Parser::Factor, {{{'*', Op::kMultiply}, {'/', Op::kDivide}}}); }

  /// Operands with operators of one precedence between them.
  void LeftToRight(void (Parser::*operand)(), const std::array<std::pair<char, Op>, 2>& operators) {
    (this->*operand)();
    for (;;) {
      const auto* const found = std::ranges::find_if(operators, [&](const auto& each) { return Take(each.first); });
      if (found == operators.end()) return;
      (this->*operand)();
      Emit(found->second);
    }
  }

  void Factor() {
    if (Take('-')) {
      Factor();
      Emit(Op::kNegate);
    } else if (Take('(')) {
      Sum();
      Expect(')');
    } else if (IsDigit(Peek())) {
      Number();
    } else if (IsLetter(Peek())) {
      NameOrFunction();
    } else {
      Fail("a number, a name or '('");
    }
  }

  void Number() {
    double value = 0.0;
    const char* begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc{}) Fail("a number a double can hold");
    position_ += static_cast<std::size_t>(end - begin);
    program_.push_back({Op::kNumber, value, {}});
  }

  void NameOrFunction() {
    const std::size_t start = position_;
    while (position_ < text_.size() && InName(text_[position_])) ++position_;
    const std::string_view name = text_.substr(start, position_ - start);
    if ((name == "min" || name == "max") && Take('(')) {
      Sum();
      while (Take(',')) {
        Sum();
        Emit(name == "min" ? Op::kMin : Op::kMax);
      }
      Expect(')');
      return;
    }
    program_.push_back({Op::kName, 0.0, std::string(name)});
  }

  static bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
  static bool IsLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
  static bool InName(char c) { return IsLetter(c) || IsDigit(c) || c == '_' || c == '.'; }

  void SkipSpaces() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }

  char Peek() {
    SkipSpaces();
    return position_ < text_.size() ? text_[position_] : '\0';
  }

  bool Take(char c) {
    if (Peek() != c) return false;
    ++position_;
    return true;
  }

  void Expect(char c) {
    if (!Take(c)) Fail(std::string("'") + c + "'");
  }

  void Emit(Op op) { program_.push_back({op, 0.0, {}}); }

  [[noreturn]] void Fail(const std::string& expected) {
    throw Error("formula \"" + std::string(text_) + "\": expected " + expected + " at character " +
                    std::to_string(position_ + 1),
                "correct the formula in the metric catalogue");
  }

  std::string_view text_;
  std::size_t position_ = 0;
  Program program_;
};

Expression::Expression(std::string_view formula) : alternatives_(Parser(formula).Formula()) {}

std::optional<double> Expression::Evaluate(const Lookup& lookup) const {
  for (const Program& program : alternatives_) {
    if (const auto value = Run(program, lookup)) return value;
  }
  return std::nullopt;
}

std::optional<double> Expression::Run(const Program& program, const Lookup& lookup) {
  std::vector<double> stack;
  for (const Step& step : program) {
    if (step.op == Op::kNumber) {
      stack.push_back(step.number);
      continue;
    }
    if (step.op == Op::kName) {
      const auto value = lookup(step.name);
      if (!value || !std::isfinite(*value)) return std::nullopt;
      stack.push_back(*value);
      continue;
    }
    if (step.op == Op::kNegate) {
      stack.back() = -stack.back();
      continue;
    }
    const double right = stack.back();
    stack.pop_back();
    double& left = stack.back();
    switch (step.op) {
      case Op::kAdd:
        left += right;
        break;
      case Op::kSubtract:
        left -= right;
        break;
      case Op::kMultiply:
        left *= right;
        break;
      case Op::kDivide:
        if (right == 0.0) return std::nullopt;
        left /= right;
        break;
      case Op::kMin:
        left = std::fmin(left, right);
        break;
      default:
        left = std::fmax(left, right);
        break;
    }
  }
  return std::isfinite(stack.back()) ? std::optional(stack.back()) : std::nullopt;
}

}  // namespace fa_profile::analyze
