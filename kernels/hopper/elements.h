#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "hopper/layout.h"

namespace fa_profile::hopper {

/// Two floats as one register of Element, `low` in the low half.
template <class Element>
FA_HOPPER_BOTH inline std::uint32_t Pack(float low, float high);
template <>
FA_HOPPER_BOTH inline std::uint32_t Pack<__half>(float low, float high) {
  const auto pair = static_cast<__half2_raw>(__floats2half2_rn(low, high));
  return static_cast<std::uint32_t>(pair.x) | static_cast<std::uint32_t>(pair.y) << 16U;
}
template <>
FA_HOPPER_BOTH inline std::uint32_t Pack<__nv_bfloat16>(float low, float high) {
  const auto pair = static_cast<__nv_bfloat162_raw>(__floats2bfloat162_rn(low, high));
  return static_cast<std::uint32_t>(pair.x) | static_cast<std::uint32_t>(pair.y) << 16U;
}

}  // namespace fa_profile::hopper
