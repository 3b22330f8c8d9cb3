#pragma once

// The phases of the kernels with known durations. Each is a chain: an instruction waits for the previous one, so a
// phase's time is its count times a latency (or, with many warps, what the pipe can take).

#include <cstdint>

namespace fa_profile {
namespace {

constexpr int kAlphaUnroll = 16;  // FFMAs per iteration
constexpr int kBetaUnroll = 8;    // MUFU.EX2s
constexpr int kGammaUnroll = 4;   // shared loads,
constexpr int kGammaWays = 8;     // each with bank conflicts of 8 ways
constexpr int kGammaWords = 32 * kGammaWays;

__device__ __forceinline__ float alpha(float x, float y, int iterations) {
#pragma unroll 1
  for (int i = 0; i < iterations; ++i) {
#pragma unroll
    for (int j = 0; j < kAlphaUnroll; ++j) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(y));
  }
  return x;
}

__device__ __forceinline__ float beta(float x, int iterations) {
#pragma unroll 1
  for (int i = 0; i < iterations; ++i) {
#pragma unroll
    for (int j = 0; j < kBetaUnroll; ++j) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
  }
  return x;
}

/// `words` (kGammaWords) contains zeros: each load's value is an offset for the next one's address.
__device__ __forceinline__ std::uint32_t gamma(std::uint32_t words, int iterations) {
  std::uint32_t address = words + threadIdx.x % 32 * kGammaWays * 4;
#pragma unroll 1
  for (int i = 0; i < iterations; ++i) {
#pragma unroll
    for (int j = 0; j < kGammaUnroll; ++j) {
      std::uint32_t offset;
      asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(offset) : "r"(address));
      address += offset;
    }
  }
  return address;
}

__device__ __forceinline__ void sync() { __syncthreads(); }

}  // namespace
}  // namespace fa_profile
