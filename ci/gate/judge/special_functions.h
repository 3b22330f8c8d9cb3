#pragma once

namespace fa_profile {

/// Regularised incomplete beta function I_x(a, b): the chance that a beta(a, b) variable is at most x. 0 <= x <= 1,
/// a and b > 0. Continued fraction: Abramowitz and Stegun 26.5.8, evaluated by Lentz's method.
double IncompleteBeta(double x, double a, double b);

/// The chance that a Student variable with `freedom` degrees of freedom is over t. Abramowitz and Stegun 26.7.1.
double StudentUpperTail(double t, double freedom);

}  // namespace fa_profile
