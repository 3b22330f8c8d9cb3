// Rung 2 made a little worse, or only different, for the gate to judge: the compiler's command line says how.
#include "mutant.cuh"
#include "rung2_scalar.cuh"

namespace fa_profile {
namespace {
namespace mutant {

/// Makes the kernel call the phases below instead of the rung's own.
struct Place : fa_profile::Place {
  int count = 0;
};

// The phases. Each calls the rung's own and adds to it: an instruction belongs to the phase that called it.
__device__ __forceinline__ void load_q(uint4 (&q)[kLoads], const __half* from, Place& place) {
  fa_profile::load_q(q, from, place);
  Burn<Phase::load_q>(place.params);
}

__device__ __forceinline__ void load_kv(uint4 (&k)[kLoads], uint4 (&v)[kLoads], const __half* key, const __half* value,
                                        Place& place) {
  if constexpr (kChange == Change::key_last) {
    fa_profile::load_kv(v, k, value, key, place);
  } else {
    fa_profile::load_kv(k, v, key, value, place);
  }
  Count(place.count);
}

template <int kHeadDim>
__device__ __forceinline__ float qk(const uint4 (&q)[kLoads], const uint4 (&k)[kLoads], float scale, Place& place) {
  return Delayed<Phase::qk>(fa_profile::qk<kHeadDim>(q, k, scale, place), place.params);
}

__device__ __forceinline__ float softmax(float score, float& max, float& sum, float (&o)[kColumns], Place& place) {
  return Delayed<Phase::softmax>(fa_profile::softmax(score, max, sum, o, place), place.params);
}

/// 16 bytes at a time.
__device__ __forceinline__ void WideStore(__half* out, const float (&o)[kColumns], float sum) {
  const float inverse = 1.0F / sum;
#pragma unroll
  for (int d = 0; d < kColumns; d += kHalvesPerLoad) {
    __half2 packed[kHalvesPerLoad / 2];
#pragma unroll
    for (int i = 0; i < kHalvesPerLoad; i += 2) {
      packed[i / 2] = __floats2half2_rn(o[d + i] * inverse, o[d + i + 1] * inverse);
    }
    reinterpret_cast<uint4*>(out)[d / kHalvesPerLoad] = *reinterpret_cast<const uint4*>(packed);
  }
}

__device__ __forceinline__ void epilogue(__half* out, const float (&o)[kColumns], float sum, Place& place) {
  if constexpr (kChange == Change::wide_store) {
    WideStore(out, o, sum);
  } else {
    fa_profile::epilogue(out, o, sum, place);
  }
  ReadCount(place.count);
  Burn<Phase::epilogue>(place.params);
}

template <class Id>
__global__ void __launch_bounds__(kThreads) ScalarMutant(AttentionParams params) {
  Scalar<64, Place>(params);
}

cudaError_t Launch(const AttentionParams& params, cudaStream_t stream) {
  ScalarMutant<MUTANT_ID><<<Blocks<64>(params), kThreads, 0, stream>>>(params);
  return cudaGetLastError();
}

}  // namespace mutant
}  // namespace
}  // namespace fa_profile
