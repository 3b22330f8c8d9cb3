// Rung 6 whose rows in shared memory are not padded: right, and the eight rows that a load of a fragment reads begin at
// one bank.
#define MUTANT_ID wmma_conflicts
#define MUTANT_ONLY_64
#include "mutant.cuh"
#include "rung6_wmma.cuh"

namespace fa_profile {
namespace {
namespace mutant {

template <class Tile, class Id>
struct Mutant : Tile {
  static constexpr int kStride = Tile::kHeadDim;
  static constexpr int kSStride = Tile::kBlockN;
  static constexpr int kSharedBytes = (Tile::kBlockM + 2 * Tile::kBlockN) * kStride * 2  // Q, K, V
                                      + Tile::kBlockM * kSStride * (4 + 2)               // S, P
                                      + Tile::kBlockM * kStride * 4;                     // O
};

cudaError_t Launch(const AttentionParams& params, cudaStream_t stream) {
  return LaunchTile<Mutant<Tile<64>, MUTANT_ID>>(params, stream);
}

}  // namespace mutant
}  // namespace
}  // namespace fa_profile
