#include "fa_profile/number_format.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace fa_profile {
namespace {

// The definition of a format. For floating point: sign, exponent and mantissa bits, with an all-ones exponent for
// infinity or NaN; fp8 e4m3 uses it for numbers, except with an all-ones mantissa.
struct FormatTraits {
  std::string_view name;
  int bytes;
  int exponent_bits;  // 0: an integer, two's complement unless `largest` has all bits
  int mantissa_bits;
  std::uint64_t largest;   // bits of the largest finite number
  std::uint64_t infinity;  // result beyond it: `largest` if the format saturates
  std::uint64_t nan;
  std::uint64_t poison;
};

constexpr FormatTraits kTraits[] = {
    {"fp32", 4, 8, 23, 0x7f7fffff, 0x7f800000, 0x7fffffff, 0x7fd47d7d},
    {"fp16", 2, 5, 10, 0x7bff, 0x7c00, 0x7fff, 0x7d7d},
    {"bf16", 2, 8, 7, 0x7f7f, 0x7f80, 0x7fff, 0x7fd5},
    {"fp8 e4m3", 1, 4, 3, 0x7e, 0x7e, 0x7f, 0xff},
    {"fp8 e5m2", 1, 5, 2, 0x7b, 0x7b, 0x7f, 0x7d},
    {"int8", 1, 0, 0, 0x7f, 0x7f, 0, 0x7d},
    {"int32", 4, 0, 0, 0x7fffffff, 0x7fffffff, 0, 0x7d7d7d7d},
    {"fp64", 8, 11, 52, 0x7fefffffffffffff, 0x7ff0000000000000, 0x7fffffffffffffff, 0x7ffd7d7d7d7d7d7d},
    {"int64", 8, 0, 0, 0x7fffffffffffffff, 0x7fffffffffffffff, 0, 0x7d7d7d7d7d7d7d7d},
    {"int16", 2, 0, 0, 0x7fff, 0x7fff, 0, 0x7d7d},
    {"uint8", 1, 0, 0, 0xff, 0xff, 0, 0x7d},
};

const FormatTraits& TraitsOf(NumberFormat format) { return kTraits[static_cast<int>(format) - 1]; }

int BiasOf(const FormatTraits& traits) { return (1 << (traits.exponent_bits - 1)) - 1; }
std::uint64_t SignOf(const FormatTraits& traits) { return std::uint64_t{1} << (8 * traits.bytes - 1); }
std::uint64_t AllBits(const FormatTraits& traits) { return ~std::uint64_t{0} >> (64 - 8 * traits.bytes); }

double LeastInteger(const FormatTraits& traits) {
  return traits.largest == AllBits(traits) ? 0.0 : -static_cast<double>(traits.largest) - 1.0;
}

double DecodeInteger(const FormatTraits& traits, std::uint64_t bits) {
  const bool negative = (bits & SignOf(traits)) != 0 && traits.largest != AllBits(traits);
  return static_cast<double>(static_cast<std::int64_t>(negative ? bits | ~AllBits(traits) : bits));
}

std::uint64_t EncodeInteger(const FormatTraits& traits, double value) {
  if (std::isnan(value)) return 0;
  const double whole = std::nearbyint(value);
  if (whole >= static_cast<double>(traits.largest)) return traits.largest;
  const double least = LeastInteger(traits);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(std::max(whole, least))) & AllBits(traits);
}

// For a non-negative number.
std::uint64_t EncodeMagnitude(const FormatTraits& traits, double value) {
  if (value == 0.0) return 0;
  if (std::isinf(value)) return traits.infinity;
  int exponent = 0;
  (void)std::frexp(value, &exponent);  // value is in [2^(exponent-1), 2^exponent)
  const int least = 1 - BiasOf(traits);
  const int used = std::max(exponent - 1, least);  // below this, numbers are subnormal
  // A mantissa rounded up to the next power of two carries into the exponent by itself.
  const double mantissa = std::nearbyint(std::ldexp(value, traits.mantissa_bits - used));
  const double bits = std::ldexp(used - least, traits.mantissa_bits) + mantissa;
  return bits > static_cast<double>(traits.largest) ? traits.infinity : static_cast<std::uint64_t>(bits);
}

}  // namespace

bool IsInteger(NumberFormat format) { return TraitsOf(format).exponent_bits == 0; }

std::string_view NameOf(NumberFormat format) { return TraitsOf(format).name; }
std::size_t BytesOf(NumberFormat format) { return static_cast<std::size_t>(TraitsOf(format).bytes); }
std::uint64_t PoisonOf(NumberFormat format) { return TraitsOf(format).poison; }

double Decode(NumberFormat format, std::uint64_t bits) {
  if (format == NumberFormat::kFp64) return std::bit_cast<double>(bits);
  const FormatTraits& traits = TraitsOf(format);
  if (traits.exponent_bits == 0) return DecodeInteger(traits, bits);
  const std::uint64_t magnitude = bits & (SignOf(traits) - 1);
  double value = 0.0;
  if (magnitude > traits.largest) {
    const bool infinite = magnitude == traits.largest + 1 && format != NumberFormat::kFp8E4m3;
    value = infinite ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else {
    const int exponent = static_cast<int>(magnitude >> traits.mantissa_bits);
    const std::uint64_t mantissa = magnitude & ((std::uint64_t{1} << traits.mantissa_bits) - 1);
    const std::uint64_t leading = exponent == 0 ? 0 : std::uint64_t{1} << traits.mantissa_bits;
    value = std::ldexp(static_cast<double>(leading + mantissa),
                       std::max(exponent, 1) - BiasOf(traits) - traits.mantissa_bits);
  }
  return (bits & SignOf(traits)) != 0 ? -value : value;
}

std::uint64_t Encode(NumberFormat format, double value) {
  const FormatTraits& traits = TraitsOf(format);
  if (traits.exponent_bits == 0) return EncodeInteger(traits, value);
  if (std::isnan(value)) return traits.nan;
  if (format == NumberFormat::kFp64) return std::bit_cast<std::uint64_t>(value);
  return EncodeMagnitude(traits, std::fabs(value)) | (std::signbit(value) ? SignOf(traits) : 0);
}

bool Fits(NumberFormat format, double value) {
  const FormatTraits& traits = TraitsOf(format);
  if (traits.exponent_bits == 0) {
    return value >= LeastInteger(traits) && value <= static_cast<double>(traits.largest) &&
           value == std::nearbyint(value);
  }
  return std::fabs(value) <= Decode(format, traits.largest);
}

std::uint64_t LoadBits(NumberFormat format, std::span<const std::byte> tensor, std::size_t index) {
  const std::size_t bytes = BytesOf(format);
  std::uint64_t bits = 0;
  std::memcpy(&bits, tensor.subspan(index * bytes, bytes).data(), bytes);
  return bits;
}

void StoreBits(NumberFormat format, std::span<std::byte> tensor, std::size_t index, std::uint64_t bits) {
  const std::size_t bytes = BytesOf(format);
  std::memcpy(tensor.subspan(index * bytes, bytes).data(), &bits, bytes);
}

}  // namespace fa_profile
