#include "judge/special_functions.h"

#include <cmath>

namespace fa_profile {
namespace {

/// The fraction that I_x(a, b) is x^a (1-x)^b / (a B(a, b)) over. Converges in about sqrt(max(a, b)) steps while
/// x < (a + 1) / (a + b + 2).
double BetaFraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300;  // Lentz: in place of a denominator that is zero
  constexpr int kMostSteps = 1000000;
  const auto guarded = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1.0;
  double d = 1.0 / guarded(1.0 - (a + b) * x / (a + 1.0));
  double fraction = d;
  for (int m = 1; m < kMostSteps; ++m) {
    const double even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
    d = 1.0 / guarded(1.0 + even * d);
    c = guarded(1.0 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
    d = 1.0 / guarded(1.0 + odd * d);
    c = guarded(1.0 + odd / c);
    fraction *= d * c;
    if (std::abs(d * c - 1.0) < 1e-15) break;
  }
  return fraction;
}

}  // namespace

double IncompleteBeta(double x, double a, double b) {
  if (x <= 0.0) return 0.0;
  if (x >= 1.0) return 1.0;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  // The fraction converges fast on one side only; the other follows by I_x(a, b) = 1 - I_(1-x)(b, a).
  if (x < (a + 1.0) / (a + b + 2.0)) return front * BetaFraction(x, a, b) / a;
  return 1.0 - front * BetaFraction(1.0 - x, b, a) / b;
}

double StudentUpperTail(double t, double freedom) {
  const double both = IncompleteBeta(freedom / (freedom + t * t), freedom / 2.0, 0.5);
  return t >= 0.0 ? 0.5 * both : 1.0 - 0.5 * both;
}

}  // namespace fa_profile
