// Rung 6 made a little worse, or only different, for the gate to judge: the compiler's command line says how.
#include "mutant.cuh"
#include "rung6_wmma.cuh"

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
  static constexpr int kSharedBytes = Tile::kSharedBytes + (kChange == Change::shared_line ? 128 : 0);
};

// The phases. Each calls the rung's own and adds to it: an instruction belongs to the phase that called it.
template <class T>
__device__ __forceinline__ void load_q(__half* q, const __half* q_head, int block_row, int seqlen, Place& place) {
  if constexpr (kChange == Change::split_load_q) {
    constexpr int kHalf = T::kBlockM / 2;
    CopyRows<T, kHalf>(q + kHalf * T::kStride, q_head, block_row + kHalf, seqlen);
    CopyRows<T, kHalf>(q, q_head, block_row, seqlen);
  } else {
    fa_profile::load_q<T>(q, q_head, block_row, seqlen, place);
  }
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
__device__ __forceinline__ void qk(float* scores, const __half* q, const __half* k, Place& place) {
  fa_profile::qk<T>(scores, q, k, place);
  Burn<Phase::qk>(place.params);
}

template <class T>
__device__ __forceinline__ void softmax(__half* p, const float* scores, float (&row_max)[T::kPasses],
                                        float (&row_sum)[T::kPasses], float (&correction)[T::kPasses], float c, int row,
                                        int key, Place& place) {
  fa_profile::softmax<T>(p, scores, row_max, row_sum, correction, c, row, key, place);
  Burn<Phase::softmax>(place.params);
}

template <class T>
__device__ __forceinline__ void rescale(float* o, const float (&correction)[T::kPasses], Place& place) {
  if constexpr (kChange == Change::warp_sync) __syncwarp();
  fa_profile::rescale<T>(o, correction, place);
  Burn<Phase::rescale>(place.params);
}

template <class T>
__device__ __forceinline__ void pv(float* o, const __half* p, const __half* v, Place& place) {
  fa_profile::pv<T>(o, p, v, place);
  Burn<Phase::pv>(place.params);
}

/// Divides o in shared memory, so that the rung's own epilogue divides by 1.
template <class T>
__device__ __forceinline__ void TwoStepScale(__half* o_head, const float* o, const float (&row_sum)[T::kPasses],
                                             int row, int seqlen, Place& place) {
  float inverse[T::kPasses];
  float one[T::kPasses];
#pragma unroll
  for (int pass = 0; pass < T::kPasses; ++pass) {
    float sum = row_sum[pass];
#pragma unroll
    for (int lanes = T::kRowLanes / 2; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, lanes);
    inverse[pass] = 1.0F / sum;
    one[pass] = static_cast<int>(threadIdx.x) % T::kRowLanes == 0 ? 1.0F : 0.0F;
  }
  fa_profile::rescale<T>(const_cast<float*>(o), inverse, place);
  fa_profile::epilogue<T>(o_head, o, one, row, seqlen, place);
}

template <class T>
__device__ __forceinline__ void epilogue(__half* o_head, const float* o, const float (&row_sum)[T::kPasses], int row,
                                         int seqlen, Place& place) {
  if constexpr (kChange == Change::epilogue_sync) __syncthreads();
  if constexpr (kChange == Change::two_step_scale) {
    TwoStepScale<T>(o_head, o, row_sum, row, seqlen, place);
  } else {
    fa_profile::epilogue<T>(o_head, o, row_sum, row, seqlen, place);
  }
  ReadCount(place.count);
  Burn<Phase::epilogue>(place.params);
}

cudaError_t Launch(const AttentionParams& params, cudaStream_t stream) {
  return LaunchTile<Mutant<Tile<64>, MUTANT_ID>>(params, stream);
}

}  // namespace mutant
}  // namespace
}  // namespace fa_profile
