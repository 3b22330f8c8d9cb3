// Rung 6 that forgets to rescale the accumulator when a row's maximum rises: much faster than rung 5, and wrong.
#define MUTANT_ID wmma_no_rescale
#define MUTANT_ONLY_64
#include "mutant.cuh"
#include "rung6_wmma.cuh"

namespace fa_profile {
namespace {
namespace mutant {

struct Place : fa_profile::Place {};

template <class Tile, class Id>
struct Mutant : Tile {
  using Place = mutant::Place;
};

template <class T>
__device__ __forceinline__ void rescale(float*, const float (&)[T::kPasses], Place&) {}

cudaError_t Launch(const AttentionParams& params, cudaStream_t stream) {
  return LaunchTile<Mutant<Tile<64>, MUTANT_ID>>(params, stream);
}

}  // namespace mutant
}  // namespace
}  // namespace fa_profile
