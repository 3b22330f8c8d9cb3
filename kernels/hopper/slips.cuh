#pragma once

// Slips: the chosen configuration for head dimension 64 with one thing done worse, for asking whether the gate and the
// profiler point at it. All are correct.

#include "hopper/configurations.cuh"
#include "hopper/forward.cuh"

namespace fa_profile::hopper {
namespace {

// One stage less in the rings of K and V: a tile is loaded only when the one before it has been used.
struct SlipOneStage : Tile<64, 3, 128, 1> {
  static constexpr bool kOverlap = true;
  static constexpr bool kLazyRescale = true;
  static constexpr bool kTmaStore = true;
  static constexpr bool kPersistent = true;
};

// The next Q K^T waits for this P V: nothing runs beside the exponentials.
struct SlipNoOverlap : Persistent64 {
  static constexpr bool kOverlap = false;
};

// Each score is multiplied before its exponential: what a scale costs that is not folded into it.
struct SlipUnfoldedScale : Persistent64 {};

// Rows of O's tile in shared memory begin at the same bank.
struct SlipNoSwizzle : Persistent64 {
  static constexpr bool kSwizzleO = false;
};

// The warpgroups of a block meet at each tile.
struct SlipBarrier : Persistent64 {};

// The consumers get 8 registers less.
struct SlipRegisters : Persistent64 {
  static constexpr int kConsumerRegisters = 152;
};

struct ScalingConsumer : Consumer<SlipUnfoldedScale> {
  __device__ __forceinline__ void softmax(int tile) {
    const float one = call.seqlen > 0 ? 1.0F : call.c;  // the compiler does not know it
#pragma unroll
    for (float& score : scores) score *= one;
    Consumer::softmax(tile);
  }
};

struct MeetingConsumer : Consumer<SlipBarrier> {
  __device__ __forceinline__ void sync(Operand operand) {
    constexpr int kBarrier = 15;  // the highest: the others are taken from 1 on
    if (operand == Operand::kV) NamedSync<SlipBarrier::kWarpgroups * kWarpgroupThreads>(kBarrier);
    Consumer::sync(operand);
  }
};

template <>
struct ConsumerOf<SlipUnfoldedScale> {
  using Type = ScalingConsumer;
};
template <>
struct ConsumerOf<SlipBarrier> {
  using Type = MeetingConsumer;
};

}  // namespace
}  // namespace fa_profile::hopper
