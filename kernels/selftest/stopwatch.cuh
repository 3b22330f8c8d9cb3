#pragma once

#include <cstdint>

namespace fa_profile {

/// Laps of one warp by the SM's clock, summed by slot. Without kClocks none of it is compiled. The lower half of the
/// clock is enough (a lap and a sum stay below 2^32 cycles, some two seconds) and takes half the registers.
template <bool kClocks, int kSlots>
class Stopwatch {
 public:
  __device__ __forceinline__ void Start() {
    if constexpr (kClocks) last_ = Clock();
  }
  static __device__ __forceinline__ Stopwatch Started() {
    Stopwatch watch;
    watch.Start();
    return watch;
  }
  /// Assigns the time since Start() or the last lap to `slot`.
  __device__ __forceinline__ void Lap(int slot) {
    if constexpr (kClocks) {
      const std::uint32_t now = Clock();
      sums_[slot] += now - last_;
      last_ = now;
    }
  }
  /// The same after a barrier: the wait is assigned to `slot`. A BAR does not hold a warp before something needs it,
  /// and a clock read needs nothing: it would give the time of arrival. A load of what others may have written does
  /// need it. `shared_word`: the address of a word of shared memory that is 0, in shared memory's own address space.
  __device__ __forceinline__ void LapBehindBarrier(int slot, std::uint32_t shared_word) {
    if constexpr (kClocks) {
      std::uint32_t x;
      asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(x) : "r"(shared_word) : "memory");
      if (x != 0) __trap();  // never; the branch waits for the load
      Lap(slot);
    }
  }
  /// sums (warps, kSlots): each warp's row, written by its first lane.
  __device__ __forceinline__ void Write(std::uint64_t* sums) const {
    if constexpr (kClocks) {
      if (threadIdx.x % 32 != 0) return;
      const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
#pragma unroll
      for (int i = 0; i < kSlots; ++i) sums[warp * kSlots + i] = sums_[i];
    }
  }

 private:
  static __device__ __forceinline__ std::uint32_t Clock() {
    std::uint64_t now;  // %clock would be read by the slower S2UR
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
    return static_cast<std::uint32_t>(now);
  }

  std::uint32_t sums_[kSlots] = {};
  std::uint32_t last_ = 0;
};

}  // namespace fa_profile
