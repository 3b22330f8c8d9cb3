// Rung 8's configurations for many rows. Not yet run on a GPU, and not on the ladder.
#include "forward.cuh"
#include "rung8_hopper.h"

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
struct PingPong64 : Lazy64 {
  static constexpr bool kPingPong = true;
};
struct Store64 : PingPong64 {
  static constexpr bool kTmaStore = true;
};
struct Persistent64 : Store64 {
  static constexpr bool kPersistent = true;
};
struct Polynomial64 : Persistent64 {
  static constexpr int kPolynomialOf16 = 3;
};

// Head dimension 128: 2 warpgroups.
using Plain128 = Tile<128, 2, 128, 2>;
struct Overlap128 : Plain128 {
  static constexpr bool kOverlap = true;
};
struct Lazy128 : Overlap128 {
  static constexpr bool kLazyRescale = true;
};
struct PingPong128 : Lazy128 {
  static constexpr bool kPingPong = true;
};
struct Store128 : PingPong128 {
  static constexpr bool kTmaStore = true;
};
struct Persistent128 : Store128 {
  static constexpr bool kPersistent = true;
};

}  // namespace

Variants ForwardVariants() {
  static constexpr Variant kVariants[] = {
      {"64_plain", "one product after the other", 64, false, 0, LaunchForward<Plain64>},
      {"64_overlap", "next QK before this PV", 64, false, 0, LaunchForward<Overlap64>},
      {"64_lazy", "lazy rescale", 64, false, 0, LaunchForward<Lazy64>},
      {"64_ping_pong", "warpgroups in turn", 64, false, 0, LaunchForward<PingPong64>},
      {"64_store", "O by TMA", 64, false, 0, LaunchForward<Store64>},
      {"64_persistent", "as many blocks as SMs", 64, false, 0, LaunchForward<Persistent64>},
      {"64_poly_3", "3 of 16 exponentials on the FMA pipe", 64, false, 0, LaunchForward<Polynomial64>},
      {"128_plain", "one product after the other", 128, false, 0, LaunchForward<Plain128>},
      {"128_overlap", "next QK before this PV", 128, false, 0, LaunchForward<Overlap128>},
      {"128_lazy", "lazy rescale", 128, false, 0, LaunchForward<Lazy128>},
      {"128_ping_pong", "warpgroups in turn", 128, false, 0, LaunchForward<PingPong128>},
      {"128_store", "O by TMA", 128, false, 0, LaunchForward<Store128>},
      {"128_persistent", "as many blocks as SMs", 128, false, 0, LaunchForward<Persistent128>},
  };
  return {std::begin(kVariants), std::end(kVariants)};
}

}  // namespace fa_profile::hopper
