#pragma once

// Slips: the configuration of step `persistent` for head dimension 64 with one thing made worse, to check whether the
// gate and the profiler point at it. All are correct.

#include "hopper/configurations.cuh"
#include "hopper/forward.cuh"

namespace fa_profile::hopper {
namespace {

// One stage less in the rings of K and V: a tile is loaded only after the previous one has been used.
using SlipOneStage = Persistent<Tile<64, 3, 128, 1>>;

// The next Q K^T waits for this P V: nothing overlaps the exponentials.
struct SlipNoOverlap : Persistent64 {
  static constexpr bool kOverlap = false;
};

// Each score is multiplied before its exponential: the cost of a scale that is not folded into it.
template <class T>
struct ScalingConsumer : Consumer<T> {
  __device__ __forceinline__ void softmax(int tile) {
    const float one = this->call.seqlen > 0 ? 1.0F : this->call.c;  // the compiler does not know it
#pragma unroll
    for (float& score : this->scores) score *= one;
    Consumer<T>::softmax(tile);
  }
};
struct SlipUnfoldedScale : Persistent64 {
  template <class T>
  using Consumer = ScalingConsumer<T>;
};

// Rows of O's tile in shared memory begin at the same bank.
struct SlipNoSwizzle : Persistent64 {
  static constexpr bool kSwizzleO = false;
};

// The warpgroups of a block meet at each tile.
template <class T>
struct MeetingConsumer : Consumer<T> {
  __device__ __forceinline__ void sync(Operand operand) {
    constexpr int kBarrier = 15;  // the highest: the others are numbered from 1
    if (operand == Operand::kV) NamedSync<T::kWarpgroups * kWarpgroupThreads>(kBarrier);
    Consumer<T>::sync(operand);
  }
};
struct SlipBarrier : Persistent64 {
  template <class T>
  using Consumer = MeetingConsumer<T>;
};

// The consumers get 8 registers less.
struct SlipRegisters : Persistent64 {
  static constexpr int kConsumerRegisters = 152;
};

}  // namespace
}  // namespace fa_profile::hopper
