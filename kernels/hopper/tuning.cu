// Shapes and switches beside those of rung8_hopper.cu, to be measured against them (bench/hopper/times.cpp). Not yet
// run on a GPU.
#include <iterator>
#include <type_traits>

#include "hopper/forward.cuh"
#include "hopper/rung8_hopper.h"

namespace fa_profile::hopper {
namespace {

/// All switches on, but O stored by the threads.
template <class T>
struct PlainStore : T {
  static constexpr bool kOverlap = true;
  static constexpr bool kLazyRescale = true;
  static constexpr bool kPingPong = true;
  static constexpr bool kPersistent = true;
};
/// All switches on.
template <class T>
struct All : PlainStore<T> {
  static constexpr bool kTmaStore = true;
};
template <class T>
struct NoTurns : T {
  static constexpr bool kPingPong = false;
};
template <class T>
struct EachItemABlock : T {
  static constexpr bool kPersistent = false;
};
template <class T>
struct Paired : T {
  static constexpr int kCluster = 2;
  // Two maps of parts and a rank more: 24 registers spill.
  static constexpr int kProducerRegisters = T::kWarpgroups == 3 ? 32 : 40;
  static constexpr int kConsumerRegisters = T::kWarpgroups == 3 ? 160 : 232;
};
template <class T, int kOf16>
struct Polynomial : T {
  static constexpr int kPolynomialOf16 = kOf16;
};

using Best64 = All<Tile<64, 3, 128, 2>>;
using Best128 = All<Tile<128, 2, 128, 2>>;

template <class T>
constexpr Variant TuningVariant(const char* name, const char* changes) {
  constexpr bool kBf16 = std::is_same_v<typename T::Element, __nv_bfloat16>;
  return {name, changes, T::kHeadDim, kBf16, 0, LaunchForward<T>};
}

}  // namespace

Variants TuningVariants() {
  static constexpr Variant kVariants[] = {
      TuningVariant<NoTurns<Best64>>("64_no_turns", "all switches but ping-pong"),
      TuningVariant<EachItemABlock<Best64>>("64_a_block_each", "all but persistent"),
      TuningVariant<All<Tile<64, 3, 128, 3>>>("64_3_stages", "3 stages"),
      TuningVariant<All<Tile<64, 3, 96, 3>>>("64_96_keys", "96 keys"),
      TuningVariant<All<Tile<64, 3, 64, 4>>>("64_64_keys", "64 keys, 4 stages"),
      TuningVariant<All<Tile<64, 2, 128, 2>>>("64_2_warpgroups", "128 rows"),
      TuningVariant<NoTurns<All<Tile<64, 2, 128, 2>>>>("64_2_no_turns", "128 rows, no ping-pong"),
      TuningVariant<All<Tile<64, 2, 176, 2>>>("64_2_176_keys", "128 rows, 176 keys"),
      TuningVariant<All<Tile<64, 2, 192, 2>>>("64_2_192_keys", "128 rows, 192 keys"),
      TuningVariant<NoTurns<All<Tile<64, 2, 192, 2>>>>("64_2_192_no_turns", "the same without ping-pong"),
      TuningVariant<Polynomial<All<Tile<64, 2, 192, 2>>, 3>>("64_2_192_poly_3", "the same, 3 of 16 on the FMA pipe"),
      TuningVariant<Polynomial<Best64, 2>>("64_poly_2", "2 of 16 exponentials on the FMA pipe"),
      TuningVariant<Polynomial<Best64, 4>>("64_poly_4", "4 of 16"),
      TuningVariant<Polynomial<NoTurns<Best64>, 3>>("64_poly_3_no_turns", "3 of 16, no ping-pong"),
      TuningVariant<Paired<Best64>>("64_cluster_2", "2 row blocks share K and V"),
      TuningVariant<Bf16<Best64>>("64_bf16", "bf16"),
      TuningVariant<NoTurns<Best128>>("128_no_turns", "all switches but ping-pong"),
      TuningVariant<EachItemABlock<Best128>>("128_a_block_each", "all but persistent"),
      TuningVariant<PlainStore<Tile<128, 2, 176, 2>>>("128_176_keys", "176 keys, O stored by threads"),
      TuningVariant<All<Tile<128, 2, 160, 2>>>("128_160_keys", "160 keys"),
      TuningVariant<All<Tile<128, 2, 96, 2>>>("128_96_keys", "96 keys"),
      TuningVariant<All<Tile<128, 2, 64, 4>>>("128_64_keys", "64 keys, 4 stages"),
      TuningVariant<Polynomial<Best128, 2>>("128_poly_2", "2 of 16 exponentials on the FMA pipe"),
      TuningVariant<Paired<Best128>>("128_cluster_2", "2 row blocks share K and V"),
      TuningVariant<Paired<PlainStore<Tile<128, 2, 176, 2>>>>("128_176_cluster_2", "the same, 176 keys"),
      TuningVariant<Bf16<Best128>>("128_bf16", "bf16"),
  };
  return {kVariants, kVariants + std::size(kVariants)};
}

StuckReport TakeTuningStuckWait() { return TakeStuckWait(); }

}  // namespace fa_profile::hopper
