#pragma once

// Rung 8's configurations: the chosen ones, and the steps to them from the plain version, a switch each.

#include "hopper/split_keys.cuh"
#include "hopper/tile.h"

namespace fa_profile::hopper {
namespace {

// Head dimension 64: 3 warpgroups of 64 rows, 128 keys, 2 stages each of K and V.
using Plain64 = Tile<64, 3, 128, 2>;
struct Overlap64 : Plain64 {
  static constexpr bool kOverlap = true;
};
struct Lazy64 : Overlap64 {
  static constexpr bool kLazyRescale = true;
};
struct PingPong64 : Lazy64 {  // gains nothing, and the next steps go on without it
  static constexpr bool kPingPong = true;
};
struct Store64 : Lazy64 {
  static constexpr bool kTmaStore = true;
};
struct Persistent64 : Store64 {
  static constexpr bool kPersistent = true;
};
struct Continued64 : Persistent64 {  // loses
  static constexpr bool kContinue = true;
};
struct Polynomial64 : Persistent64 {
  static constexpr int kPolynomialOf16 = 3;
};

/// 128 rows a block, for shapes that fill the last wave better with it.
struct Rows128 : Tile<64, 2, 128, 2> {
  static constexpr bool kOverlap = true;
  static constexpr bool kLazyRescale = true;
  static constexpr bool kTmaStore = true;
  static constexpr bool kPersistent = true;
};

// Head dimension 128: 2 warpgroups.
using Plain128 = Tile<128, 2, 128, 2>;
struct Overlap128 : Plain128 {
  static constexpr bool kOverlap = true;
};
struct Lazy128 : Overlap128 {
  static constexpr bool kLazyRescale = true;
};
struct PingPong128 : Lazy128 {  // gains nothing, and the next steps go on without it
  static constexpr bool kPingPong = true;
};
struct Store128 : Lazy128 {
  static constexpr bool kTmaStore = true;
};
struct Persistent128 : Store128 {
  static constexpr bool kPersistent = true;
};
struct Continued128 : Persistent128 {  // loses
  static constexpr bool kContinue = true;
};

// Few, short heads: the keys over the 2 blocks of a cluster, 2 warpgroups of 128 keys in each.
using SplitKeys64 = SplitTile<64, 2, 1, 2, 128>;
using SplitKeys128 = SplitTile<128, 2, 1, 2, 128>;

}  // namespace
}  // namespace fa_profile::hopper
