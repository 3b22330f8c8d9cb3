#pragma once

// Rung 8's configurations: the chosen ones, and the steps to them from the plain version, one switch each.

#include "hopper/split_keys.cuh"
#include "hopper/tile.h"

namespace fa_profile::hopper {
namespace {

// The steps, on a tile: each adds a switch to the one it derives from.
template <class T>
struct Overlap : T {
  static constexpr bool kOverlap = true;
};
template <class T>
struct Lazy : Overlap<T> {
  static constexpr bool kLazyRescale = true;
};
template <class T>
struct PingPong : Lazy<T> {  // gains little, and the next steps go on without it
  static constexpr bool kPingPong = true;
};
template <class T>
struct Store : Lazy<T> {
  static constexpr bool kTmaStore = true;
};
template <class T>
struct Persistent : Store<T> {
  static constexpr bool kPersistent = true;
};
template <class T>
struct Continued : Persistent<T> {  // loses
  static constexpr bool kContinue = true;
};
template <class T>
struct Summed : Persistent<T> {
  static constexpr bool kSumByProduct = true;
};
template <class T>
struct InTurn : Summed<T> {  // ping-pong, which gains here
  static constexpr bool kPingPong = true;
};
/// Any configuration, of both kernels, that begins while the previous kernel in the stream ends.
template <class T>
struct Dependent : T {
  static constexpr bool kDependentLaunch = true;
};
/// Any configuration, with this many of 16 exponentials on the FMA pipe.
template <class T, int kOf16>
struct Polynomial : T {
  static constexpr int kPolynomialOf16 = kOf16;
};

// Head dimension 64: 3 warpgroups of 64 rows, 128 keys, 2 stages each of K and V. Head dimension 128: 2 warpgroups.
using Plain64 = Tile<64, 3, 128, 2>;
using Plain128 = Tile<128, 2, 128, 2>;
using Persistent64 = Persistent<Plain64>;
using Persistent128 = Persistent<Plain128>;
using Chosen64 = Dependent<InTurn<Plain64>>;
using Chosen128 = Dependent<InTurn<Plain128>>;
/// 128 rows per block, for shapes that fill the last wave better with it.
using Rows128 = Dependent<InTurn<Tile<64, 2, 128, 2>>>;

// Few, short heads: the keys over the 2 blocks of a cluster, 2 warpgroups of 128 keys in each.
using SplitKeys64 = Dependent<SplitTile<64, 2, 1, 2, 128>>;
using SplitKeys128 = Dependent<SplitTile<128, 2, 1, 2, 128>>;

}  // namespace
}  // namespace fa_profile::hopper
