// The family Mma: Q, K and V from global memory, and the barriers around them.
#pragma once

#include "mma_tile.cuh"

namespace phase_variants {
namespace {

/// (cos - 1, sin) by position and pair: zeros, so that attention stays what the reference computes.
__device__ float2 rotary_table[4096 * 64];

template <class T>
__device__ __forceinline__ std::uint32_t Rotate(std::uint32_t pair, int row, int column, float theta) {
  float cosine;
  float sine;
  if constexpr (T::kRotaryTable) {
    const float2 entry = rotary_table[row * (T::kHeadDim / 2) + column / 2];
    cosine = 1.0F + entry.x;
    sine = entry.y;
  } else {
    const float frequency = exp2f(static_cast<float>(column) * (-13.287712F / T::kHeadDim));
    __sincosf(static_cast<float>(row) * frequency * theta, &sine, &cosine);
  }
  const float2 x = __half22float2(Pair(pair));
  return Pack(x.x * cosine - x.y * sine, x.x * sine + x.y * cosine);
}

template <class T>
__device__ __forceinline__ std::uint32_t PrepareQ(std::uint32_t pair, int row, int column, const Call& call) {
  if constexpr (T::kRotary) pair = Rotate<T>(pair, row, column, call.theta);
  if constexpr (T::kScale == Scale::kOnQ) {
    pair = Bits(__hmul2(Pair(pair), __float2half2_rn(call.scale * (kIsBase2<T::kExp> ? kLog2E : 1.0F))));
  }
  if constexpr (T::kBf16Qk) pair = ToBf16(pair);
  return pair;
}

template <class T>
__device__ __forceinline__ uint4 PrepareK(uint4 chunk, int row, int column, const Call& call) {
  std::uint32_t words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (T::kRotary) words[i] = Rotate<T>(words[i], row, column + 2 * i, call.theta);
    if constexpr (T::kBf16Qk) words[i] = ToBf16(words[i]);
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

/// Q of the warp's rows as fragments, from global memory.
template <class T>
__device__ __forceinline__ void load_q(QFragments<T>& q, const __half* q_head, const Place& place, const Call& call) {
  const int g = place.lane / 4;
  const int t = place.lane % 4;
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int kk = 0; kk < T::kHeadDim / 16; ++kk) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = place.row + 16 * mt + g + 8 * (i % 2);
        const int column = 16 * kk + 2 * t + 8 * (i / 2);
        const std::uint32_t pair =
            __ldg(reinterpret_cast<const unsigned*>(q_head + static_cast<std::int64_t>(row) * T::kHeadDim + column));
        q[mt][kk][i] = PrepareQ<T>(pair, row, column, call);
      }
    }
  }
}

/// Q of the block into shared memory.
template <class T>
__device__ __forceinline__ void load_q(std::uint32_t q_tile, const __half* q_head, const Place& place,
                                       const Call& call) {
  for (int i = static_cast<int>(threadIdx.x); i < Of<T>::kBlockM * Of<T>::kChunks; i += Of<T>::kThreads) {
    const int row = i / Of<T>::kChunks;
    const int chunk = i % Of<T>::kChunks;
    const __half* from = q_head + static_cast<std::int64_t>(place.block_row + row) * T::kHeadDim + 8 * chunk;
    const std::uint32_t to = At<T>(q_tile, row, chunk);
    if constexpr (T::kRotary || T::kScale == Scale::kOnQ || T::kBf16Qk) {
      const uint4 raw = __ldg(reinterpret_cast<const uint4*>(from));
      const std::uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        StoreShared32(to + 4 * w, PrepareQ<T>(words[w], place.block_row + row, 8 * chunk + 2 * w, call));
      }
    } else {
      CopyAsync16(to, from);
    }
  }
}

template <class T>
__device__ __forceinline__ void ReadQ(std::uint32_t (&a)[4], std::uint32_t q_tile, int mt, int kk, const Place& place) {
  const int first = place.warp * Of<T>::kRows + 16 * mt;
  if constexpr (T::kLdmatrix) {
    LoadMatrix(a, At<T>(q_tile, first + (place.lane & 15), 2 * kk + (place.lane >> 4)));
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      a[i] = LoadShared32(At<T>(q_tile, first + place.lane / 4 + 8 * (i % 2), 2 * kk + i / 2) + 4 * (place.lane % 4));
    }
  }
}

/// Fragments of Q from its tile in shared memory.
template <class T>
__device__ __forceinline__ void load_q(QFragments<T>& q, std::uint32_t q_tile, const Place& place) {
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int kk = 0; kk < T::kHeadDim / 16; ++kk) ReadQ<T>(q[mt][kk], q_tile, mt, kk, place);
  }
}

/// Tiles of K and V for keys [key0, key0 + kBlockN), by asynchronous copies or through registers.
template <class T>
__device__ __forceinline__ void load_kv(std::uint32_t k_tile, std::uint32_t v_tile, const __half* k_head,
                                        const __half* v_head, int key0, int end, const Call& call) {
#pragma unroll
  for (int pass = 0; pass < Of<T>::kLoadsPerThread; ++pass) {
    const int i = pass * Of<T>::kThreads + static_cast<int>(threadIdx.x);
    if ((Of<T>::kBlockN * Of<T>::kChunks) % Of<T>::kThreads != 0 && i >= Of<T>::kBlockN * Of<T>::kChunks) break;
    const int row = i / Of<T>::kChunks;
    const int chunk = i % Of<T>::kChunks;
    const bool valid = !T::kBounds || key0 + row < end;
    const std::int64_t from = valid ? static_cast<std::int64_t>(key0 + row) * T::kHeadDim + 8 * chunk : 0;
    const std::uint32_t k_to = At<T>(k_tile, row, chunk);
    const std::uint32_t v_to = At<T>(v_tile, row, chunk);
    if constexpr (T::kCopy == Copy::kRegisters) {
      uint4 k = make_uint4(0U, 0U, 0U, 0U);
      uint4 v = k;
      if (valid) {
        k = PrepareK<T>(__ldg(reinterpret_cast<const uint4*>(k_head + from)), key0 + row, 8 * chunk, call);
        v = __ldg(reinterpret_cast<const uint4*>(v_head + from));
      }
      *reinterpret_cast<uint4*>(__cvta_shared_to_generic(k_to)) = k;
      *reinterpret_cast<uint4*>(__cvta_shared_to_generic(v_to)) = v;
    } else if constexpr (T::kBounds) {
      CopyAsync16(k_to, k_head + from, valid);
      CopyAsync16(v_to, v_head + from, valid);
    } else {
      CopyAsync16(k_to, k_head + from);
      CopyAsync16(v_to, v_head + from);
    }
  }
}

/// The next tile into registers, and from there into shared memory once the tile before is done with.
template <class T>
__device__ __forceinline__ void load_kv(Staged<T>& staged, const __half* k_head, const __half* v_head, int key0) {
#pragma unroll
  for (int pass = 0; pass < Of<T>::kLoadsPerThread; ++pass) {
    const int i = pass * Of<T>::kThreads + static_cast<int>(threadIdx.x);
    const std::int64_t from = static_cast<std::int64_t>(key0) * T::kHeadDim + 8 * i;
    staged[0][pass] = __ldg(reinterpret_cast<const uint4*>(k_head + from));
    staged[1][pass] = __ldg(reinterpret_cast<const uint4*>(v_head + from));
  }
}
template <class T>
__device__ __forceinline__ void load_kv(const Staged<T>& staged, std::uint32_t k_tile, std::uint32_t v_tile) {
#pragma unroll
  for (int pass = 0; pass < Of<T>::kLoadsPerThread; ++pass) {
    const int i = pass * Of<T>::kThreads + static_cast<int>(threadIdx.x);
    const int row = i / Of<T>::kChunks;
    const int chunk = i % Of<T>::kChunks;
    *reinterpret_cast<uint4*>(__cvta_shared_to_generic(At<T>(k_tile, row, chunk))) = staged[0][pass];
    *reinterpret_cast<uint4*>(__cvta_shared_to_generic(At<T>(v_tile, row, chunk))) = staged[1][pass];
  }
}

/// The fragments of a tile straight from global memory.
template <class T>
__device__ __forceinline__ void load_kv(Direct<T>& tile, const __half* k_head, const __half* v_head, int key0,
                                        const Place& place) {
  const int g = place.lane / 4;
  const int t = place.lane % 4;
#pragma unroll
  for (int nt = 0; nt < T::kKeys / 8; ++nt) {
    const __half* from = k_head + static_cast<std::int64_t>(key0 + 8 * nt + g) * T::kHeadDim + 2 * t;
#pragma unroll
    for (int kk = 0; kk < T::kHeadDim / 16; ++kk) {
      tile.k[nt][kk][0] = __ldg(reinterpret_cast<const unsigned*>(from + 16 * kk));
      tile.k[nt][kk][1] = __ldg(reinterpret_cast<const unsigned*>(from + 16 * kk + 8));
    }
  }
#pragma unroll
  for (int kk = 0; kk < T::kKeys / 16; ++kk) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const __half* from = v_head + static_cast<std::int64_t>(key0 + 16 * kk + 8 * half + 2 * t) * T::kHeadDim + g;
#pragma unroll
      for (int dt = 0; dt < T::kHeadDim / 8; ++dt) {
        tile.v[kk][dt][half] = Bits(__halves2half2(__ldg(from + 8 * dt), __ldg(from + T::kHeadDim + 8 * dt)));
      }
    }
  }
}

/// What was copied by the block is there.
__device__ __forceinline__ void sync() {
  CommitCopies();
  WaitCopies<0>();
  __syncthreads();
}

/// The block is done with a tile.
__device__ __forceinline__ void sync(const Place&) { __syncthreads(); }

}  // namespace
}  // namespace phase_variants
