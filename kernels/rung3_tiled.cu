// Rung 3's kernel is in rung3_tiled.cuh.
#include "rung.h"
#include "rung3_tiled.cuh"

namespace fa_profile {
namespace {

template <bool kSwizzled, Loads kLoads>
cudaError_t LaunchTiled(const AttentionParams& params, cudaStream_t stream) {
  return params.head_dim == 64 ? LaunchTile<Tile<64, kSwizzled, kLoads>>(params, stream)
                               : LaunchTile<Tile<128, kSwizzled, kLoads>>(params, stream);
}

constexpr Rung MakeRung(const char* id, const char* teaches,
                        cudaError_t (*launch)(const AttentionParams&, cudaStream_t)) {
  return {.number = 3,
          .id = id,
          .teaches = teaches,
          .phases = "load_q load_kv sync qk softmax rescale pv epilogue",
          .parts = {{id, launch}}};
}

}  // namespace

const Rung& TiledRung() {
  static constexpr Rung rung = MakeRung(
      "tiled",
      "K and V tiles in shared memory, copied asynchronously, no bank conflict: what the FMA pipe alone can give",
      LaunchTiled<true, Loads::kAsync16>);
  return rung;
}

const Rung& TiledNoPadRung() {
  static constexpr Rung rung =
      MakeRung("tiled_no_pad", "rung 3 with the rows of K neither padded nor swizzled: bank conflicts",
               LaunchTiled<false, Loads::kAsync16>);
  return rung;
}

const Rung& TiledNoAsyncRung() {
  static constexpr Rung rung = MakeRung("tiled_no_async", "rung 3 with its tiles copied through registers: no LDGSTS",
                                        LaunchTiled<true, Loads::kThroughRegisters>);
  return rung;
}

const Rung& TiledScalarLoadRung() {
  static constexpr Rung rung = MakeRung("tiled_scalar_load", "rung 3 with copies of 4 bytes: four times the LDGSTS",
                                        LaunchTiled<true, Loads::kAsync4>);
  return rung;
}

}  // namespace fa_profile
