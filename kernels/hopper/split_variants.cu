// Configurations of rung 8's kernel for few rows, to be measured against the chosen ones.
#include <iterator>
#include <type_traits>

#include "hopper/configurations.cuh"
#include "hopper/split_keys.cuh"
#include "hopper/variant.h"

namespace fa_profile::hopper {
namespace {

template <class T>
constexpr Variant SplitVariant(const char* name, const char* changes) {
  constexpr bool kBf16 = std::is_same_v<typename T::Element, __nv_bfloat16>;
  return {name, changes, T::kHeadDim, kBf16, T::kMaxSeqlen, LaunchSplit<T>};
}

template <class T>
struct CopyToPush : T {
  static constexpr bool kCopyToPush = true;
};

struct BfloatTile : SplitTile<64, 2, 2, 2, 128> {
  using Element = __nv_bfloat16;
};

}  // namespace

// SplitTile<head_dim, splits, query tiles per cluster, warpgroups, keys per warpgroup>
Variants SplitVariants() {
  static constexpr Variant kVariants[] = {
      SplitVariant<SplitTile<64, 1, 1, 4, 128>>("split_64_1_1_4_128", "no cluster: 4 warpgroups of 128 keys"),
      SplitVariant<SplitTile<64, 1, 4, 4, 128>>("split_64_1_4_4_128", "4 query tiles share K and V"),
      SplitVariant<SplitTile<64, 2, 1, 2, 128>>("split_64_2_1_2_128", "keys over 2 blocks"),
      SplitVariant<SplitTile<64, 2, 2, 2, 128>>("split_64_2_2_2_128", "and 2 query tiles share K and V"),
      SplitVariant<SplitTile<64, 2, 4, 2, 128>>("split_64_2_4_2_128", "and 4"),
      SplitVariant<SplitTile<64, 2, 1, 4, 64>>("split_64_2_1_4_64", "4 warpgroups of 64 keys"),
      SplitVariant<SplitTile<64, 2, 2, 4, 64>>("split_64_2_2_4_64", "and 2 query tiles"),
      SplitVariant<SplitTile<64, 2, 4, 4, 64>>("split_64_2_4_4_64", "and 4"),
      SplitVariant<Polynomial<SplitTile<64, 2, 4, 2, 128>, 4>>("split_64_2_4_2_128_poly_4",
                                                               "4 of 16 exponentials on the FMA pipe"),
      SplitVariant<Polynomial<SplitTile<64, 2, 4, 4, 64>, 4>>("split_64_2_4_4_64_poly_4", "the same"),
      SplitVariant<SplitTile<64, 4, 2, 2, 64>>("split_64_4_2_2_64", "and 2 query tiles"),
      SplitVariant<SplitTile<64, 4, 2, 2, 128>>("split_64_4_2_2_128", "up to 1024 keys"),
      SplitVariant<SplitTile<64, 4, 1, 2, 64>>("split_64_4_1_2_64", "keys over 4 blocks, two blocks an SM"),
      SplitVariant<SplitTile<64, 4, 1, 1, 128>>("split_64_4_1_1_128", "the same, a warpgroup each"),
      SplitVariant<CopyToPush<SplitTile<64, 2, 1, 2, 128>>>("split_64_2_1_2_128_copy", "parts through TMA"),
      SplitVariant<CopyToPush<SplitTile<64, 2, 2, 2, 128>>>("split_64_2_2_2_128_copy", "the same, 2 query tiles"),
      SplitVariant<CopyToPush<SplitTile<64, 4, 1, 1, 128>>>("split_64_4_1_1_128_copy", "the same, 4 blocks"),
      SplitVariant<CopyToPush<Polynomial<SplitTile<64, 2, 1, 2, 128>, 4>>>("split_64_2_1_2_128_copy_poly_4", "both"),
      SplitVariant<CopyToPush<Polynomial<SplitTile<64, 2, 1, 2, 128>, 6>>>("split_64_2_1_2_128_copy_poly_6", "6 of 16"),
      SplitVariant<Polynomial<SplitTile<64, 2, 1, 2, 128>, 4>>("split_64_2_1_2_128_poly_4",
                                                               "4 of 16 exponentials on the FMA pipe"),
      SplitVariant<SplitKeys64>("split_64_2_1_2_128_dependent", "begins while the kernel before ends"),
      SplitVariant<SplitTile<128, 2, 1, 2, 128>>("split_128_2_1_2_128", "head dimension 128"),
      SplitVariant<SplitTile<128, 2, 2, 2, 128>>("split_128_2_2_2_128", "and 2 query tiles share K and V"),
      SplitVariant<SplitTile<128, 2, 4, 2, 128>>("split_128_2_4_2_128", "and 4"),
      SplitVariant<BfloatTile>("split_bf16_64_2_2_2_128", "bf16"),
  };
  return {kVariants, kVariants + std::size(kVariants)};
}

}  // namespace fa_profile::hopper
