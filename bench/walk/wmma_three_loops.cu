// Rung 6 with a softmax in three loops (maximum, weights, conversion) that keep nothing in registers, to have them for
// more warps: right, and slower, because its cost is the traffic of shared memory.
#define MUTANT_ID wmma_three_loops
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

/// The rung's softmax, with the same result. `scores` is the warp's own, and is not read afterwards.
template <class T>
__device__ __forceinline__ void softmax(__half* p, const float* scores, float (&row_max)[T::kPasses],
                                        float (&row_sum)[T::kPasses], float (&correction)[T::kPasses], float c, int row,
                                        int key, Place& place) {
  // volatile: the compiler would keep the values in registers, as the rung does.
  auto* const weights = const_cast<volatile float*>(scores);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int column = 4 * (lane % T::kRowLanes);
#pragma unroll 1
  for (int pass = 0; pass < T::kPasses; ++pass) {
    const int offset = (pass * T::kRowsPerPass + lane / T::kRowLanes) * T::kSStride + column;
    const int left = sm80::KeyEnd(row + pass * T::kRowsPerPass, place.params) - key;
    float old_max = 0.0F;
    float old_sum = 0.0F;
#pragma unroll
    for (int i = 0; i < T::kPasses; ++i) {  // of registers, whose index must be known to the compiler
      old_max = i == pass ? row_max[i] : old_max;
      old_sum = i == pass ? row_sum[i] : old_sum;
    }
    float max = old_max;
    for (int i = 0; i < 4; ++i) max = fmaxf(max, i < left ? weights[offset + i] : sm80::MinusInfinity());
    for (int lanes = 1; lanes < T::kRowLanes; lanes *= 2) max = fmaxf(max, __shfl_xor_sync(0xffffffffU, max, lanes));
    float sum = 0.0F;
    for (int i = 0; i < 4; ++i) {
      const float weight = i < left ? sm80::Exp2((weights[offset + i] - max) * c) : 0.0F;
      weights[offset + i] = weight;
      sum += weight;
    }
    for (int i = 0; i < 4; ++i) p[offset + i] = __float2half(weights[offset + i]);
    const float factor = sm80::Exp2((old_max - max) * c);
#pragma unroll
    for (int i = 0; i < T::kPasses; ++i) {
      if (i != pass) continue;
      correction[i] = factor;
      row_max[i] = max;
      row_sum[i] = old_sum * factor + sum;
    }
  }
  __syncwarp();
}

cudaError_t Launch(const AttentionParams& params, cudaStream_t stream) {
  return LaunchTile<Mutant<Tile<64>, MUTANT_ID>>(params, stream);
}

}  // namespace mutant
}  // namespace
}  // namespace fa_profile
