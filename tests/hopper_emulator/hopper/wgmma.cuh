#pragma once

// kernels/hopper/wgmma.cuh for the emulator: a product is computed when its group is waited for. Descriptors and
// registers as the PTX ISA describes them, without the formulas of kernels/hopper/layout.h.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hopper/warp.cuh"

namespace fa_profile::hopper {
namespace {

template <class Element>
float ValueOf(std::uint16_t bits) {
  if constexpr (std::is_same_v<Element, __half>) {
    __half_raw raw;
    raw.x = bits;
    return __half2float(__half(raw));
  } else {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
  }
}

/// An operand in shared memory.
class Operand128 {
 public:
  Operand128(std::uint64_t descriptor, bool mn_major)
      : start_(static_cast<std::uint32_t>(descriptor & 0x3fff) << 4),
        leading_(static_cast<std::uint32_t>(descriptor >> 16 & 0x3fff) << 4),
        stride_(static_cast<std::uint32_t>(descriptor >> 32 & 0x3fff) << 4),
        mn_major_(mn_major) {
    if (descriptor >> 62 != 1) emulator::Fail("only the 128-byte swizzle is emulated");
  }

  template <class Element>
  float At(int mn, int k) const {
    const auto row = static_cast<std::uint32_t>(mn);
    const auto depth = static_cast<std::uint32_t>(k);
    const std::uint32_t address =
        mn_major_ ? start_ + row % 64 * 2 + row / 64 * leading_ + depth % 8 * 128 + depth / 8 * stride_
                  : start_ + row % 8 * 128 + row / 8 * stride_ + depth * 2;
    std::uint16_t bits = 0;
    std::memcpy(&bits, emulator::MemoryAt(address ^ (address / 128 % 8 * 16)), sizeof bits);
    return ValueOf<Element>(bits);
  }

 private:
  std::uint32_t start_, leading_, stride_;
  bool mn_major_;
};

inline void FenceOperands() {}
inline void CommitProducts() {
  emulator::Thread& thread = emulator::ThisThread();
  thread.products.push_back(std::move(thread.open_group));
  thread.open_group.clear();
}

template <int kNewer>
void WaitProducts() {
  emulator::Thread& thread = emulator::ThisThread();
  if (!thread.open_group.empty()) emulator::Fail("products were not committed");
  while (thread.products.size() > kNewer) {
    for (const auto& product : thread.products.front()) product();
    thread.products.pop_front();
  }
}

template <int kCount>
void Pin(float (&)[kCount]) {}
template <int kCount>
void Pin(std::uint32_t (&)[kCount][4]) {}

/// D: lane/4 (and 8 below it) are the rows of a warp's 16, 2 (lane % 4) and the next the columns of each 8.
template <int kN, class Element>
struct Product {
  using Columns = std::array<std::array<float, 16>, 2>;  // A's two rows of this thread

  static void Accumulate(float (&d)[kN / 2], const Columns& a, const Operand128& b, int accumulate) {
    const int lane = static_cast<int>(emulator::ThisThread().index % 32);
    for (int i = 0; i < kN / 2; ++i) {
      const int column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      float sum = accumulate != 0 ? d[i] : 0.0F;
      for (int k = 0; k < 16; ++k)
        sum += a[static_cast<std::size_t>(i % 4 / 2)][static_cast<std::size_t>(k)] * b.At<Element>(column, k);
      d[i] = sum;
    }
  }

  static void Multiply(float (&d)[kN / 2], std::uint64_t a, std::uint64_t b, int accumulate) {
    emulator::ThisThread().open_group.push_back([&d, a, b, accumulate] {
      const Operand128 rows(a, false);
      const int thread = static_cast<int>(emulator::ThisThread().index % 128);
      Columns values;
      for (int lower = 0; lower < 2; ++lower) {
        for (int k = 0; k < 16; ++k) {
          values[static_cast<std::size_t>(lower)][static_cast<std::size_t>(k)] =
              rows.At<Element>(thread / 32 * 16 + thread % 32 / 4 + 8 * lower, k);
        }
      }
      Accumulate(d, values, Operand128(b, false), accumulate);
    });
  }

  /// The registers of A: rows lane/4, + 8, and the same 8 columns on; two columns each, 2 (lane % 4) and the next.
  static void Multiply(float (&d)[kN / 2], const std::uint32_t (&a)[4], std::uint64_t b, int accumulate) {
    emulator::ThisThread().open_group.push_back([&d, &a, b, accumulate] {
      const int lane = static_cast<int>(emulator::ThisThread().index % 32);
      Columns values;
      for (int i = 0; i < 4; ++i) {
        const auto& words = emulator::ExchangeInWarp(a[i]);
        for (int other = 0; other < 4; ++other) {
          const std::uint32_t pair = words[lane / 4 * 4 + other];
          const auto column = static_cast<std::size_t>(i / 2 * 8 + other * 2);
          values[static_cast<std::size_t>(i % 2)][column] = ValueOf<Element>(static_cast<std::uint16_t>(pair));
          values[static_cast<std::size_t>(i % 2)][column + 1] =
              ValueOf<Element>(static_cast<std::uint16_t>(pair >> 16U));
        }
      }
      Accumulate(d, values, Operand128(b, true), accumulate);
    });
  }
};

}  // namespace
}  // namespace fa_profile::hopper
