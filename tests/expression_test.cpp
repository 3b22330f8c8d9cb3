#include "fa_profile/expression.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "fa_profile/error.h"

namespace fa_profile::analyze::expression_test {
namespace {

std::optional<double> Evaluate(std::string_view formula, const std::map<std::string, double>& values = {}) {
  return Expression(formula).Evaluate([&](const std::string& name) -> std::optional<double> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(ExpressionTest, MultiplicationBindsTighterThanAddition) {
  EXPECT_EQ(Evaluate("2 + 3 * 4"), 14.0);
  EXPECT_EQ(Evaluate("(2 + 3) * 4"), 20.0);
}

TEST(ExpressionTest, SubtractionAndDivisionGroupToTheLeft) {
  EXPECT_EQ(Evaluate("10 - 4 - 3"), 3.0);
  EXPECT_EQ(Evaluate("24 / 4 / 3"), 2.0);
  EXPECT_EQ(Evaluate("24 / 4 * 3"), 18.0);
}

TEST(ExpressionTest, NegationAndExponents) {
  EXPECT_EQ(Evaluate("-2 * -3"), 6.0);
  EXPECT_EQ(Evaluate("--2"), 2.0);
  EXPECT_EQ(Evaluate("1e3 + 2.5e-1"), 1000.25);
}

TEST(ExpressionTest, MinAndMaxTakeAnyNumberOfArguments) {
  EXPECT_EQ(Evaluate("min(3, 1, 2)"), 1.0);
  EXPECT_EQ(Evaluate("max(3, 1 + 4, 2)"), 5.0);
  EXPECT_EQ(Evaluate("min(7)"), 7.0);
}

TEST(ExpressionTest, MinIsAlsoAName) {
  // Rollups of counters are called .min and .max; a function needs its parenthesis.
  EXPECT_EQ(Evaluate("min + a.max", {{"min", 1.0}, {"a.max", 2.0}}), 3.0);
}

TEST(ExpressionTest, NamesHaveDotsDigitsAndUnderscores) {
  EXPECT_EQ(Evaluate("TPC.TriageCompute.sm__a_b2.sum/4", {{"TPC.TriageCompute.sm__a_b2.sum", 8.0}}), 2.0);
}

TEST(ExpressionTest, AnAbsentNameMakesTheResultAbsent) {
  EXPECT_EQ(Evaluate("1 + a"), std::nullopt);
  EXPECT_EQ(Evaluate("0 * a"), std::nullopt);
  EXPECT_EQ(Evaluate("max(1, a)"), std::nullopt);
}

TEST(ExpressionTest, TheFirstAlternativeWithAValueCounts) {
  EXPECT_EQ(Evaluate("a | b | c", {{"b", 2.0}, {"c", 3.0}}), 2.0);
  EXPECT_EQ(Evaluate("a / b | 9", {{"a", 1.0}, {"b", 0.0}}), 9.0);
  EXPECT_EQ(Evaluate("a | b"), std::nullopt);
}

TEST(ExpressionTest, DivisionByZeroIsAbsentNotInfinite) {
  EXPECT_EQ(Evaluate("1 / 0"), std::nullopt);
  EXPECT_EQ(Evaluate("0 / 0"), std::nullopt);
  EXPECT_EQ(Evaluate("1 / (2 - 2)"), std::nullopt);
}

TEST(ExpressionTest, AValueThatIsNotFiniteIsAbsent) {
  EXPECT_EQ(Evaluate("a", {{"a", std::numeric_limits<double>::infinity()}}), std::nullopt);
  EXPECT_EQ(Evaluate("a", {{"a", std::numeric_limits<double>::quiet_NaN()}}), std::nullopt);
  EXPECT_EQ(Evaluate("a * a", {{"a", 1e300}}), std::nullopt);
}

TEST(ExpressionTest, AMalformedFormulaIsAnErrorWithItsPosition) {
  for (const char* formula : {"", "1 +", "(1", "1)", "a b", "* 2", "max(1", "max()", "a |", "| a", "1 $ 2", "1..2"}) {
    EXPECT_THROW(Expression{formula}, Error) << formula;
  }
  try {
    const Expression expression("a + ) b");
    FAIL() << "it parsed";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("character 5"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace fa_profile::analyze::expression_test
