// The steps to rung 8's configurations for many rows, one switch each.
#include <iterator>

#include "hopper/configurations.cuh"
#include "hopper/forward.cuh"
#include "hopper/variant.h"

namespace fa_profile::hopper {
Variants ForwardVariants() {
  static constexpr Variant kVariants[] = {
      ForwardVariant<Plain64>("64_plain", "one product after the other"),
      ForwardVariant<Overlap<Plain64>>("64_overlap", "next QK before this PV"),
      ForwardVariant<Lazy<Plain64>>("64_lazy", "lazy rescale"),
      ForwardVariant<PingPong<Plain64>>("64_ping_pong", "warpgroups in turn"),
      ForwardVariant<Store<Plain64>>("64_store", "O by TMA"),
      ForwardVariant<Persistent64>("64_persistent", "as many blocks as SMs"),
      ForwardVariant<Summed<Plain64>>("64_sum", "row sums by the product"),
      ForwardVariant<InTurn<Plain64>>("64_in_turn", "ping-pong again"),
      ForwardVariant<Chosen64>("64_dependent", "begins while the kernel before ends"),
      ForwardVariant<Continued<Plain64>>("64_continued", "next item's QK before the epilogue"),
      ForwardVariant<Polynomial<Persistent64, 3>>("64_poly_3", "3 of 16 exponentials on the FMA pipe"),
      ForwardVariant<Plain128>("128_plain", "one product after the other"),
      ForwardVariant<Overlap<Plain128>>("128_overlap", "next QK before this PV"),
      ForwardVariant<Lazy<Plain128>>("128_lazy", "lazy rescale"),
      ForwardVariant<PingPong<Plain128>>("128_ping_pong", "warpgroups in turn"),
      ForwardVariant<Store<Plain128>>("128_store", "O by TMA"),
      ForwardVariant<Persistent128>("128_persistent", "as many blocks as SMs"),
      ForwardVariant<Summed<Plain128>>("128_sum", "row sums by the product"),
      ForwardVariant<InTurn<Plain128>>("128_in_turn", "ping-pong again"),
      ForwardVariant<Chosen128>("128_dependent", "begins while the kernel before ends"),
      ForwardVariant<Continued<Plain128>>("128_continued", "next item's QK before the epilogue"),
  };
  return {kVariants, kVariants + std::size(kVariants)};
}

}  // namespace fa_profile::hopper
