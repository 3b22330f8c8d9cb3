#include "draw_values.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "fa_profile/mixed_bits.h"

namespace fa_profile {
namespace {

// A number in [0, 1) with 53 bits.
double UnitOf(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// Box-Muller on two uniforms of 32 bits; the first is in (0, 1], so that its logarithm is finite.
double NormalOf(std::uint64_t bits) {
  const double u = (static_cast<double>(bits >> 32) + 1.0) * 0x1p-32;
  const double turn = static_cast<double>(bits & 0xffffffffU) * 0x1p-32;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * turn);
}

double ValueOf(const Draw& draw, std::uint64_t bits) {
  switch (draw.kind) {
    case FA_PROFILE_NORMAL:
      return draw.a + draw.b * NormalOf(bits);
    case FA_PROFILE_UNIFORM:
      return draw.a + (draw.b - draw.a) * UnitOf(bits);
    case FA_PROFILE_INTEGERS:
      return std::min(draw.b, std::floor(draw.a + (draw.b - draw.a + 1.0) * UnitOf(bits)));
    default:
      return draw.a;
  }
}

}  // namespace

void DrawValues(const Draw& draw, std::uint64_t seed, std::uint32_t tensor, std::span<double> values) {
  const std::uint64_t key = Mix(Mix(seed) + tensor);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = ValueOf(draw, Mix(key ^ Mix(i)));
}

}  // namespace fa_profile
