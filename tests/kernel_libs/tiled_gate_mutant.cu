// Rung 3 made a little worse, or only different, for the gate to judge: the compiler's command line says how.
#ifndef MUTANT_P_PADDING
#define MUTANT_P_PADDING 16  // floats after a row of probabilities; 0: rows conflict
#endif
#ifndef MUTANT_Q_PADDING
#define MUTANT_Q_PADDING 4  // floats after a row of Q; 12 is as good, and 0: rows conflict
#endif
#include "mutant.cuh"
#include "rung3_tiled.cuh"

namespace fa_profile {
namespace {
namespace mutant {

/// Makes the kernel call the phases below instead of the rung's own.
struct Place : fa_profile::Place {
  int count = 0;
};

template <class Tile, class Id>
struct Mutant : Tile {
  using Place = mutant::Place;
  static constexpr int kBlocksPerSm = MUTANT_BLOCKS_PER_SM > 0 ? MUTANT_BLOCKS_PER_SM : Tile::kBlocksPerSm;
  static constexpr int kQStride = Tile::kHeadDim + MUTANT_Q_PADDING;
  static constexpr int kPStride = Tile::kBlockN + MUTANT_P_PADDING;
  static constexpr int kSharedBytes = Tile::kSharedBytes + 4 * Tile::kBlockM * (kQStride - Tile::kQStride) +
                                      4 * Tile::kBlockM * (kPStride - Tile::kPStride) +
                                      (kChange == Change::shared_line ? 128 : 0);
};

// The phases. Each calls the rung's own and adds to it: an instruction belongs to the phase that called it.
template <class T>
__device__ __forceinline__ void load_q(float* q, const __half* q_head, int block_row, int seqlen, float factor,
                                       Place& place) {
  fa_profile::load_q<T>(q, q_head, block_row, seqlen, factor, place);
  Burn<Phase::load_q>(place.params);
}

template <class T>
__device__ __forceinline__ void load_kv(__half* k, __half* v, const __half* k_head, const __half* v_head, int key0,
                                        int key_end, Place& place) {
  fa_profile::load_kv<T>(k, v, k_head, v_head, key0, key_end, place);
  Count(place.count);
  Burn<Phase::load_kv>(place.params);
}

__device__ __forceinline__ void sync(Place& place) {
  fa_profile::sync(place);
#pragma unroll
  for (int i = 0; i < MUTANT_EXTRA_BARRIERS; ++i) fa_profile::sync(place);
}

template <class T>
__device__ __forceinline__ void qk(float (&scores)[T::kMicro][T::kMicro], const float* q, const __half* k, int tx,
                                   Place& place) {
  fa_profile::qk<T>(scores, q, k, tx, place);
  Burn<Phase::qk>(place.params);
}

template <class T>
__device__ __forceinline__ void softmax(float (&scores)[T::kMicro][T::kMicro], float* p, float (&row_max)[T::kMicro],
                                        float (&row_sum)[T::kMicro], float (&correction)[T::kMicro],
                                        const int (&key_end)[T::kMicro], Place& place) {
  if constexpr (kChange == Change::clamped_mask) {
    int clamped[T::kMicro];
#pragma unroll
    for (int i = 0; i < T::kMicro; ++i) clamped[i] = min(key_end[i], T::kBlockN);
    fa_profile::softmax<T>(scores, p, row_max, row_sum, correction, clamped, place);
  } else {
    fa_profile::softmax<T>(scores, p, row_max, row_sum, correction, key_end, place);
  }
  Burn<Phase::softmax>(place.params);
}

template <class T>
__device__ __forceinline__ void rescale(float (&o)[T::kMicro][T::kColumnGroups][4],
                                        const float (&correction)[T::kMicro], Place& place) {
  bool needed = true;
  if constexpr (kChange == Change::lazy_rescale) {
    needed = __any_sync(0xffffffffU,
                        fminf(fminf(correction[0], correction[1]), fminf(correction[2], correction[3])) < 1.0F) != 0;
  }
  if (needed) fa_profile::rescale<T>(o, correction, place);
  Burn<Phase::rescale>(place.params);
}

template <class T>
__device__ __forceinline__ void pv(float (&o)[T::kMicro][T::kColumnGroups][4], const float* p, const __half* v,
                                   Place& place) {
  fa_profile::pv<T>(o, p, v, place);
  Burn<Phase::pv>(place.params);
}

template <class T>
__device__ __forceinline__ void epilogue(__half* o_head, const float (&o)[T::kMicro][T::kColumnGroups][4],
                                         const float (&row_sum)[T::kMicro], int row, int column, int seqlen,
                                         Place& place) {
  if constexpr (kChange == Change::epilogue_sync) __syncthreads();
  fa_profile::epilogue<T>(o_head, o, row_sum, row, column, seqlen, place);
  ReadCount(place.count);
  Burn<Phase::epilogue>(place.params);
}

cudaError_t Launch(const AttentionParams& params, cudaStream_t stream) {
  return LaunchTile<Mutant<Tile<64, true, Loads::kAsync16>, MUTANT_ID>>(params, stream);
}

}  // namespace mutant
}  // namespace
}  // namespace fa_profile
