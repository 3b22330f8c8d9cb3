#pragma once

// 2^x on the FMA pipe, for part of the exponentials: at head dimension 64 the special-function unit (16 results per
// cycle and SM) takes as long as the tensor cores, so relieving it saves time.

#ifndef __CUDA_ARCH__
#include <bit>
#endif
#include <cstdint>

#include "hopper/layout.h"

namespace fa_profile::hopper {

FA_HOPPER_BOTH inline std::int32_t BitsOf(float x) {
#ifdef __CUDA_ARCH__
  return __float_as_int(x);
#else
  return std::bit_cast<std::int32_t>(x);
#endif
}

FA_HOPPER_BOTH inline float FloatOf(std::int32_t bits) {
#ifdef __CUDA_ARCH__
  return __int_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}

/// 2^x for x <= 100, with a relative error below 8e-5 (fp16 keeps 4.9e-4): x = n + f with n whole and |f| <= 1/2, the
/// cubic nearest to 2^f in relative error on that interval, and n added to the exponent. Below -126 it gives 2^-126,
/// which is 0 in fp16 and negligible in bf16.
FA_HOPPER_BOTH inline float Exp2OnFma(float x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it leaves a whole number in the low bits
  x = x > -126.0F ? x : -126.0F;
  const float rounded = x + kRound;
  const float f = x - (rounded - kRound);
  const float power = ((0.05517166909F * f + 0.24261112222F) * f + 0.69326098545F) * f + 0.99992807354F;
  // The shift removes the bits of kRound itself from the word.
  const auto n = static_cast<std::uint32_t>(BitsOf(rounded)) << 23U;
  return FloatOf(static_cast<std::int32_t>(static_cast<std::uint32_t>(BitsOf(power)) + n));
}

/// Whether element `i` of a thread's scores takes Exp2OnFma: `of_16` of 16, spread evenly.
FA_HOPPER_BOTH constexpr bool IsOnFma(int i, int of_16) { return i * of_16 % 16 < of_16; }

}  // namespace fa_profile::hopper
