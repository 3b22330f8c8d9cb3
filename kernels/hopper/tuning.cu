// Shapes and switches other than those in steps.cu, to be measured against them (bench/hopper/times.cpp).
#include <iterator>

#include "hopper/configurations.cuh"
#include "hopper/forward.cuh"
#include "hopper/variant.h"

namespace fa_profile::hopper {
namespace {

/// O stored by the threads, not by TMA.
template <class T>
struct PlainStore : Lazy<T> {
  static constexpr bool kPersistent = true;
};
template <class T>
struct WholeItems : T {
  static constexpr bool kNarrowItems = false;
};
template <class T>
struct Turns : T {
  static constexpr bool kPingPong = true;
};
template <class T>
struct EachItemABlock : T {
  static constexpr bool kPersistent = false;
};
template <class T>
struct Paired : T {
  static constexpr int kCluster = 2;
  // Two maps of parts and a rank more: with 24, registers spill.
  static constexpr int kProducerRegisters = T::kWarpgroups == 3 ? 32 : 40;
  static constexpr int kConsumerRegisters = T::kWarpgroups == 3 ? 160 : 232;
};
}  // namespace

Variants TuningVariants() {
  static constexpr Variant kVariants[] = {
      ForwardVariant<WholeItems<Persistent64>>("64_whole", "no narrow items"),
      ForwardVariant<Continued<WholeItems<Persistent64>>>("64_whole_continued", "the same, continued"),
      ForwardVariant<Continued<Persistent<Tile<64, 3, 128, 3>>>>("64_3_continued", "3 stages, continued"),
      ForwardVariant<Continued<Persistent<Tile<64, 2, 128, 2>>>>("64_2_continued", "128 rows, continued"),
      ForwardVariant<Turns<Persistent64>>("64_turns", "as persistent, ping-pong too"),
      ForwardVariant<EachItemABlock<Persistent64>>("64_a_block_each", "as persistent, but a block for each item"),
      ForwardVariant<Persistent<Tile<64, 3, 128, 3>>>("64_3_stages", "3 stages"),
      ForwardVariant<Persistent<Tile<64, 3, 96, 3>>>("64_96_keys", "96 keys"),
      ForwardVariant<Persistent<Tile<64, 3, 64, 4>>>("64_64_keys", "64 keys, 4 stages"),
      ForwardVariant<Persistent<Tile<64, 2, 128, 2>>>("64_2_warpgroups", "128 rows"),
      ForwardVariant<Turns<Persistent<Tile<64, 2, 128, 2>>>>("64_2_turns", "128 rows, ping-pong"),
      ForwardVariant<Rows128>("64_2_chosen", "128 rows, as it is chosen"),
      ForwardVariant<Persistent<Tile<64, 2, 176, 2>>>("64_2_176_keys", "128 rows, 176 keys"),
      ForwardVariant<Persistent<Tile<64, 2, 192, 2>>>("64_2_192_keys", "128 rows, 192 keys"),
      ForwardVariant<Turns<Persistent<Tile<64, 2, 192, 2>>>>("64_2_192_turns", "the same with ping-pong"),
      ForwardVariant<Polynomial<Persistent<Tile<64, 2, 192, 2>>, 3>>("64_2_192_poly_3",
                                                                     "the same, 3 of 16 on the FMA pipe"),
      ForwardVariant<Polynomial<Persistent64, 2>>("64_poly_2", "2 of 16 exponentials on the FMA pipe"),
      ForwardVariant<Polynomial<Persistent64, 4>>("64_poly_4", "4 of 16"),
      ForwardVariant<Turns<Polynomial<Persistent64, 3>>>("64_poly_3_turns", "3 of 16, ping-pong"),
      ForwardVariant<Paired<Persistent64>>("64_cluster_2", "2 row blocks share K and V"),
      ForwardVariant<Bf16<Persistent64>>("64_bf16", "bf16"),
      ForwardVariant<Turns<Persistent128>>("128_turns", "as persistent, ping-pong too"),
      ForwardVariant<EachItemABlock<Persistent128>>("128_a_block_each", "as persistent, but a block for each item"),
      ForwardVariant<PlainStore<Tile<128, 2, 176, 2>>>("128_176_keys", "176 keys, O stored by threads"),
      ForwardVariant<Persistent<Tile<128, 2, 160, 2>>>("128_160_keys", "160 keys"),
      ForwardVariant<Persistent<Tile<128, 2, 96, 2>>>("128_96_keys", "96 keys"),
      ForwardVariant<Persistent<Tile<128, 2, 64, 4>>>("128_64_keys", "64 keys, 4 stages"),
      ForwardVariant<Polynomial<Persistent128, 2>>("128_poly_2", "2 of 16 exponentials on the FMA pipe"),
      ForwardVariant<Paired<Persistent128>>("128_cluster_2", "2 row blocks share K and V"),
      ForwardVariant<Paired<PlainStore<Tile<128, 2, 176, 2>>>>("128_176_cluster_2", "the same, 176 keys"),
      ForwardVariant<Bf16<Persistent128>>("128_bf16", "bf16"),
  };
  return {kVariants, kVariants + std::size(kVariants)};
}

}  // namespace fa_profile::hopper
